//! Bundle adjustment: per observation a rotation after Rodrigues, a projection with distortion, and two errors. Of each error the
//! reverse sweep gives the fifteen entries of its row of the Jacobian; the sparse matrix is filled row by row.

use crate::by_hand::{ByHand, Json, natural, reals};

/// Columns that an observation's rows have: 11 of the camera, 3 of the point, 1 of the weight.
pub const ENTRIES: usize = 15;

/// The scene: which camera saw which point where.
pub struct Scene {
    pub cameras: Vec<f64>,
    pub points: Vec<f64>,
    pub weights: Vec<f64>,
    pub features: Vec<f64>,
    pub camera_of: Vec<i64>,
    pub point_of: Vec<i64>,
    pub counts: [usize; 3],
}

impl Scene {
    pub fn new(input: &Json) -> Scene {
        let [n, m, p] = ["n", "m", "p"].map(|x| natural(&input[x]));
        Scene {
            cameras: reals(&input["cam"]).repeat(n),
            points: reals(&input["x"]).repeat(m),
            weights: reals(&input["w"]).repeat(p),
            features: reals(&input["feat"]).repeat(p),
            camera_of: (0..p).map(|i| (i % n) as i64).collect(),
            point_of: (0..p).map(|i| (i % m) as i64).collect(),
            counts: [n, m, p],
        }
    }
}

/// The Jacobian in compressed rows.
pub struct Sparse {
    pub rows: Vec<i64>,
    pub cols: Vec<i64>,
    pub vals: Vec<f64>,
}

impl Sparse {
    pub fn new(p: usize) -> Sparse {
        Sparse { rows: vec![0; 3 * p + 1], cols: vec![0; 31 * p], vals: vec![0.0; 31 * p] }
    }

    /// As adc's result has it: the fields by name.
    pub fn leaves(&self) -> Vec<f64> {
        let ints = |xs: &[i64]| xs.iter().map(|k| *k as f64).collect::<Vec<_>>();
        [ints(&self.cols), ints(&self.rows), self.vals.clone()].concat()
    }
}

type Vec3 = [f64; 3];

#[inline(always)]
fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// What the forward sweep of an observation keeps.
struct Seen {
    r: Vec3,
    y: Vec3,
    theta: f64,
    axis: Vec3,
    sin: f64,
    cos: f64,
    z: Vec3,
    p: [f64; 2],
    /// |p|² and the distortion 1 + k1 s + k2 s².
    s: f64,
    distortion: f64,
    f: f64,
    k: [f64; 2],
    w: f64,
    /// The projection minus the feature.
    miss: [f64; 2],
}

#[inline(always)]
fn see(scene: &Scene, i: usize) -> Seen {
    let camera = &scene.cameras[11 * scene.camera_of[i] as usize..][..11];
    let point = &scene.points[3 * scene.point_of[i] as usize..][..3];
    let r = [camera[0], camera[1], camera[2]];
    let y = [point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]];
    let (f, k) = (camera[6], [camera[9], camera[10]]);
    let theta = dot(r, r).sqrt();
    let (sin, cos) = theta.sin_cos();
    let axis = if theta == 0.0 { [0.0; 3] } else { r.map(|r| r / theta) };
    let z: Vec3 = if theta == 0.0 {
        let turned = cross(r, y);
        std::array::from_fn(|j| y[j] + turned[j])
    } else {
        let (turned, along) = (cross(axis, y), dot(axis, y) * (1.0 - cos));
        std::array::from_fn(|j| y[j] * cos + turned[j] * sin + axis[j] * along)
    };
    let p = [z[0] / z[2], z[1] / z[2]];
    let s = p[0] * p[0] + p[1] * p[1];
    let distortion = 1.0 + k[0] * s + k[1] * s * s;
    let w = scene.weights[i];
    let feature = &scene.features[2 * i..2 * i + 2];
    let miss = std::array::from_fn(|o| p[o] * distortion * f + camera[7 + o] - feature[o]);
    Seen { r, y, theta, axis, sin, cos, z, p, s, distortion, f, k, w, miss }
}

/// The row of error `o`: its derivatives by r, C, f, u0 v0, k1 k2, the point, the weight.
#[inline(always)]
fn row(seen: &Seen, o: usize) -> [f64; ENTRIES] {
    let Seen { r, y, theta, axis, sin, cos, z, p, s, distortion, f, k, w, miss } = *seen;
    // The error is w (p_o D f + u_o − feature).
    let f_bar = w * p[o] * distortion;
    let d_bar = w * p[o] * f;
    let s_bar = d_bar * (k[0] + 2.0 * k[1] * s);
    let mut p_bar = p.map(|p| 2.0 * p * s_bar);
    p_bar[o] += w * distortion * f;
    // p = (z0, z1) / z2.
    let z_bar = [p_bar[0] / z[2], p_bar[1] / z[2], -(p_bar[0] * p[0] + p_bar[1] * p[1]) / z[2]];
    // a × b has the transposed derivatives b × w̄ in a and w̄ × a in b.
    let (r_bar, y_bar): (Vec3, Vec3) = if theta == 0.0 {
        let turned = cross(z_bar, r);
        (cross(y, z_bar), std::array::from_fn(|j| z_bar[j] + turned[j]))
    } else {
        // z = y cos θ + (a × y) sin θ + a (a·y)(1 − cos θ)
        let (along, weight) = (dot(axis, y), dot(z_bar, axis));
        let turned_bar = z_bar.map(|z| z * sin);
        let along_bar = weight * (1.0 - cos);
        let (to_y, to_axis) = (cross(turned_bar, axis), cross(y, turned_bar));
        let y_bar = std::array::from_fn(|j| z_bar[j] * cos + to_y[j] + along_bar * axis[j]);
        let axis_bar: Vec3 =
            std::array::from_fn(|j| to_axis[j] + z_bar[j] * along * (1.0 - cos) + along_bar * y[j]);
        let cos_bar = dot(z_bar, y) - weight * along;
        let sin_bar = dot(z_bar, cross(axis, y));
        // a = r / θ, θ = |r|
        let theta_bar = sin_bar * cos - cos_bar * sin - dot(axis_bar, axis) / theta;
        (std::array::from_fn(|j| axis_bar[j] / theta + theta_bar * axis[j]), y_bar)
    };
    let mut out = [0.0; ENTRIES];
    for j in 0..3 {
        out[j] = r_bar[j];
        out[3 + j] = -y_bar[j];
        out[11 + j] = y_bar[j];
    }
    out[6] = f_bar;
    out[7 + o] = w;
    out[9] = d_bar * s;
    out[10] = d_bar * s * s;
    out[14] = miss[o];
    out
}

pub struct Ba {
    scene: Scene,
    reprojection: Vec<f64>,
    weight_errors: Vec<f64>,
    jacobian: Sparse,
}

impl Ba {
    pub fn new(input: &Json) -> Ba {
        let scene = Scene::new(input);
        let [_, _, p] = scene.counts;
        Ba { scene, reprojection: vec![0.0; 2 * p], weight_errors: vec![0.0; p], jacobian: Sparse::new(p) }
    }
}

impl ByHand for Ba {
    #[inline(always)]
    fn primal(&mut self) {
        for (i, errors) in self.reprojection.chunks_exact_mut(2).enumerate() {
            let seen = see(&self.scene, i);
            errors[0] = seen.w * seen.miss[0];
            errors[1] = seen.w * seen.miss[1];
            self.weight_errors[i] = 1.0 - seen.w * seen.w;
        }
    }

    #[inline(always)]
    fn gradient(&mut self) {
        let [n, m, p] = self.scene.counts;
        let Sparse { rows, cols, vals } = &mut self.jacobian;
        for i in 0..p {
            let seen = see(&self.scene, i);
            let camera = 11 * self.scene.camera_of[i];
            let point = 11 * n as i64 + 3 * self.scene.point_of[i];
            let weight = (11 * n + 3 * m + i) as i64;
            for o in 0..2 {
                let at = (2 * i + o) * ENTRIES;
                rows[2 * i + o] = at as i64;
                vals[at..at + ENTRIES].copy_from_slice(&row(&seen, o));
                let own = &mut cols[at..at + ENTRIES];
                own[..11].iter_mut().zip(camera..).for_each(|(col, k)| *col = k);
                own[11..14].iter_mut().zip(point..).for_each(|(col, k)| *col = k);
                own[14] = weight;
            }
            rows[2 * p + i] = (30 * p + i) as i64;
            cols[30 * p + i] = weight;
            vals[30 * p + i] = -2.0 * seen.w;
        }
        rows[3 * p] = 31 * p as i64;
    }

    fn value(&self) -> Vec<f64> {
        [&self.reprojection[..], &self.weight_errors[..]].concat()
    }
    fn slopes(&self) -> Vec<f64> {
        self.jacobian.leaves()
    }
}
