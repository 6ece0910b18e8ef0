//! Four observations at a time. Cameras and points are read four rows at once and transposed in registers; so are the fifteen entries
//! of the rows of the Jacobian, before they are stored.

use super::lanes::{Lanes, WIDTH, transpose};
use crate::by_hand::naive::ba::{ENTRIES, Scene, Sparse};
use crate::by_hand::{ByHand, Json};

pub struct Ba {
    scene: Scene,
    reprojection: Vec<f64>,
    weight_errors: Vec<f64>,
    jacobian: Sparse,
}

impl Ba {
    pub fn new(input: &Json) -> Ba {
        let mut scene = Scene::new(input);
        let [_, _, p] = scene.counts;
        // Rows are read four numbers at a time.
        scene.points.push(0.0);
        Ba { scene, reprojection: vec![0.0; 2 * p], weight_errors: vec![0.0; p], jacobian: Sparse::new(p) }
    }
}

type Vec3 = [Lanes; 3];

/// By coordinate. (The library's functions on arrays are not always inlined, and then not made for the vector unit.)
#[inline(always)]
fn each(f: impl Fn(usize) -> Lanes) -> Vec3 {
    [f(0), f(1), f(2)]
}

#[inline(always)]
fn dot(a: Vec3, b: Vec3) -> Lanes {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

#[inline(always)]
fn cross(a: Vec3, b: Vec3) -> Vec3 {
    let entry = |j: usize, k: usize| a[k].mul_sub_from(b[j], a[j] * b[k]);
    [entry(1, 2), entry(2, 0), entry(0, 1)]
}

struct Seen {
    y: Vec3,
    theta2: Lanes,
    /// 1 / θ, or 0 where there is no rotation.
    inverse: Lanes,
    axis: Vec3,
    turned: Vec3,
    along: Lanes,
    sin: Lanes,
    cos: Lanes,
    /// 1 / z_2
    depth: Lanes,
    p: [Lanes; 2],
    s: Lanes,
    distortion: Lanes,
    f: Lanes,
    k: [Lanes; 2],
    w: Lanes,
    miss: [Lanes; 2],
}

/// Four numbers of each of four rows, by column.
#[inline(always)]
fn columns(rows: [&[f64]; WIDTH], first: usize) -> [Lanes; 4] {
    let row = |k: usize| {
        let row = &rows[k][first..first + WIDTH];
        Lanes::of([row[0], row[1], row[2], row[3]])
    };
    transpose([row(0), row(1), row(2), row(3)])
}

/// The observations at these places, which may repeat the last.
#[inline(always)]
fn see(scene: &Scene, at: [usize; WIDTH]) -> Seen {
    let camera = |i: usize| &scene.cameras[11 * scene.camera_of[i] as usize..][..11];
    let point = |i: usize| &scene.points[3 * scene.point_of[i] as usize..][..4];
    let cameras = [camera(at[0]), camera(at[1]), camera(at[2]), camera(at[3])];
    let points = [point(at[0]), point(at[1]), point(at[2]), point(at[3])];
    let [r0, r1, r2, c0] = columns(cameras, 0);
    let [c1, c2, f, u0] = columns(cameras, 4);
    let [_, v0, k1, k2] = columns(cameras, 7);
    let [x0, x1, x2, _] = columns(points, 0);
    let feature = |o: usize| Lanes::from_fn(|l| scene.features[2 * at[l] + o]);
    let w = Lanes::from_fn(|l| scene.weights[at[l]]);
    let (one, r, y) = (Lanes::splat(1.0), [r0, r1, r2], [x0 - c0, x1 - c1, x2 - c2]);
    let theta2 = dot(r, r);
    let theta = theta2.sqrt();
    // Without rotation the axis is 0, the sine 0, the cosine 1: z = y, to which r × y = 0 may be added.
    let inverse = Lanes::where_zero(theta2, Lanes::ZERO, one / theta);
    let axis = each(|j| r[j] * inverse);
    let (sin, cos) = theta.sin_cos();
    let (turned, along) = (cross(axis, y), dot(axis, y));
    let lift = along * (one - cos);
    let z: Vec3 = each(|j| axis[j].mul_add(lift, turned[j].mul_add(sin, y[j] * cos)));
    let depth = one / z[2];
    let p = [z[0] * depth, z[1] * depth];
    let s = p[0].mul_add(p[0], p[1] * p[1]);
    let distortion = s.mul_add(s.mul_add(k2, k1), one);
    let scale = distortion * f;
    let miss = [p[0].mul_add(scale, u0) - feature(0), p[1].mul_add(scale, v0) - feature(1)];
    Seen {
        y,
        theta2,
        inverse,
        axis,
        turned,
        along,
        sin,
        cos,
        depth,
        p,
        s,
        distortion,
        f,
        k: [k1, k2],
        w,
        miss,
    }
}

/// The entries of error `o`: by r, C, f, u0 v0, k1 k2, the point, the weight.
#[inline(always)]
fn row(seen: &Seen, o: usize) -> [Lanes; ENTRIES] {
    let Seen { y, theta2, inverse, axis, turned, along, sin, cos, depth, p, s, distortion, f, k, w, miss } =
        *seen;
    let (one, scaled) = (Lanes::splat(1.0), w * f);
    let f_bar = w * p[o] * distortion;
    let d_bar = scaled * p[o];
    let k1_bar = d_bar * s;
    let s_bar = d_bar * (k[1] + k[1]).mul_add(s, k[0]);
    let mut p_bar = [(s_bar + s_bar) * p[0], (s_bar + s_bar) * p[1]];
    p_bar[o] += scaled * distortion;
    let z_bar = [p_bar[0] * depth, p_bar[1] * depth, -(p_bar[0].mul_add(p[0], p_bar[1] * p[1]) * depth)];
    // z = y cos θ + (a × y) sin θ + a (a·y)(1 − cos θ)
    let weight = dot(z_bar, axis);
    let turned_bar = each(|j| z_bar[j] * sin);
    let (lift, along_bar) = (along * (one - cos), weight * (one - cos));
    let (to_y, to_axis) = (cross(turned_bar, axis), cross(y, turned_bar));
    let y_bar: Vec3 = each(|j| along_bar.mul_add(axis[j], z_bar[j].mul_add(cos, to_y[j])));
    let axis_bar: Vec3 = each(|j| along_bar.mul_add(y[j], z_bar[j].mul_add(lift, to_axis[j])));
    let cos_bar = weight.mul_sub_from(along, dot(z_bar, y));
    let sin_bar = dot(z_bar, turned);
    // a = r / θ
    let theta_bar = cos_bar.mul_sub_from(sin, sin_bar * cos) - dot(axis_bar, axis) * inverse;
    let still = cross(y, z_bar);
    let r_bar: Vec3 = each(|j| {
        let turning = axis_bar[j].mul_add(inverse, theta_bar * axis[j]);
        Lanes::where_zero(theta2, still[j], turning)
    });
    let (u_bar, v_bar) = if o == 0 { (w, Lanes::ZERO) } else { (Lanes::ZERO, w) };
    [
        r_bar[0],
        r_bar[1],
        r_bar[2],
        -y_bar[0],
        -y_bar[1],
        -y_bar[2],
        f_bar,
        u_bar,
        v_bar,
        k1_bar,
        k1_bar * s,
        y_bar[0],
        y_bar[1],
        y_bar[2],
        miss[o],
    ]
}

/// The entries as rows of the matrix, one after the other every other row.
#[inline(always)]
fn store(entries: &[Lanes; ENTRIES], rows: [&mut [f64; ENTRIES]; WIDTH]) {
    // The last group begins one entry early: what two groups write to an entry is the same.
    for first in [0, 4, 8, 11] {
        let group = [entries[first], entries[first + 1], entries[first + 2], entries[first + 3]];
        let group = transpose(group);
        for l in 0..WIDTH {
            rows[l][first..first + 4].copy_from_slice(&group[l].array());
        }
    }
}

impl ByHand for Ba {
    #[inline(always)]
    fn primal(&mut self) {
        let [_, _, p] = self.scene.counts;
        for first in (0..p).step_by(WIDTH) {
            let at = [first, first + 1, first + 2, first + 3].map(|i| i.min(p - 1));
            let seen = see(&self.scene, at);
            let errors = [(seen.w * seen.miss[0]).array(), (seen.w * seen.miss[1]).array()];
            let weights = seen.w.mul_sub_from(seen.w, Lanes::splat(1.0)).array();
            let there = WIDTH.min(p - first);
            let out =
                self.reprojection[2 * first..].iter_mut().zip((0..there).flat_map(|l| [(0, l), (1, l)]));
            out.for_each(|(out, (o, l))| *out = errors[o][l]);
            self.weight_errors[first..first + there].copy_from_slice(&weights[..there]);
        }
    }

    #[inline(always)]
    fn gradient(&mut self) {
        let [n, m, p] = self.scene.counts;
        let scene = &self.scene;
        let Sparse { rows, cols, vals } = &mut self.jacobian;
        let (vals, weight_vals) = vals.split_at_mut(30 * p);
        let pairs = vals.as_chunks_mut::<ENTRIES>().0.as_chunks_mut::<2>().0;
        for (k, four) in pairs.chunks_mut(WIDTH).enumerate() {
            let first = WIDTH * k;
            let at = [first, first + 1, first + 2, first + 3].map(|i| i.min(p - 1));
            let seen = see(scene, at);
            let entries = [row(&seen, 0), row(&seen, 1)];
            match four {
                [a, b, c, d] => {
                    let [[a0, a1], [b0, b1], [c0, c1], [d0, d1]] = [a, b, c, d];
                    store(&entries[0], [a0, b0, c0, d0]);
                    store(&entries[1], [a1, b1, c1, d1]);
                }
                fewer => {
                    for (l, pair) in fewer.iter_mut().enumerate() {
                        *pair = entries.map(|entries| entries.map(|entry| entry.array()[l]));
                    }
                }
            }
        }
        let (cols, weight_cols) = cols.split_at_mut(30 * p);
        let columns = cols.as_chunks_mut::<ENTRIES>().0.as_chunks_mut::<2>().0;
        for (i, pair) in columns.iter_mut().enumerate() {
            let camera = 11 * scene.camera_of[i];
            let point = 11 * n as i64 + 3 * scene.point_of[i];
            let weight = (11 * n + 3 * m + i) as i64;
            for own in pair {
                own[..11].iter_mut().zip(camera..).for_each(|(col, k)| *col = k);
                own[11..14].iter_mut().zip(point..).for_each(|(col, k)| *col = k);
                own[14] = weight;
            }
            weight_cols[i] = weight;
            weight_vals[i] = -2.0 * scene.weights[i];
        }
        for (i, row) in rows.iter_mut().enumerate() {
            *row = (if i < 2 * p { ENTRIES * i } else { 28 * p + i }) as i64;
        }
    }

    fn value(&self) -> Vec<f64> {
        [&self.reprojection[..], &self.weight_errors[..]].concat()
    }
    fn slopes(&self) -> Vec<f64> {
        self.jacobian.leaves()
    }
}
