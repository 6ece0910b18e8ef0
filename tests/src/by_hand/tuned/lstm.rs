//! The plain adjoint with lanes for elements: the gates of four elements at a time, sigmoid and tanh as polynomials in the loop.
//! Everything has length b, filled up to whole vectors; the prediction's exponentials of what was filled in are masked.

use super::lanes::{Lanes, WIDTH};
use crate::by_hand::naive::lstm::Network;
use crate::by_hand::{ByHand, Json};

#[derive(Clone, Copy)]
struct Kept {
    forget: Lanes,
    ingate: Lanes,
    outgate: Lanes,
    change: Lanes,
    /// Of the new cell.
    tanh: Lanes,
    cell: Lanes,
    hidden: Lanes,
}

/// Weights and biases of the gates of four elements of a layer, or their cotangents.
#[derive(Clone, Copy)]
struct Gates {
    weights: [Lanes; 4],
    biases: [Lanes; 4],
}

pub struct Lstm {
    p: Network,
    vectors: usize,
    /// By layer and vector.
    gates: Vec<Gates>,
    /// By vector: input weights, output weights, output biases.
    extra: Vec<[Lanes; 3]>,
    /// By step and vector.
    sequence: Vec<Lanes>,
    start: Vec<Kept>,
    mask: Vec<Lanes>,
    kept: Vec<Kept>,
    shares: Vec<Lanes>,
    gates_bar: Vec<Gates>,
    extra_bar: Vec<[Lanes; 3]>,
    value: f64,
}

const NO_GATES: Gates = Gates { weights: [Lanes::ZERO; 4], biases: [Lanes::ZERO; 4] };
const NOTHING: Kept = Kept {
    forget: Lanes::ZERO,
    ingate: Lanes::ZERO,
    outgate: Lanes::ZERO,
    change: Lanes::ZERO,
    tanh: Lanes::ZERO,
    cell: Lanes::ZERO,
    hidden: Lanes::ZERO,
};

impl Lstm {
    pub fn new(input: &Json) -> Lstm {
        let p = Network::new(input);
        let (b, vectors) = (p.b, p.b.div_ceil(WIDTH));
        // Vector v of a row of b numbers that begins at `row`.
        let part = |xs: &[f64], row: usize, v: usize| {
            Lanes::from_fn(|l| if WIDTH * v + l < b { xs[row + WIDTH * v + l] } else { 0.0 })
        };
        let each = |count: usize| (0..count).flat_map(|k| (0..vectors).map(move |v| (k, v)));
        Lstm {
            gates: each(p.layers)
                .map(|(k, v)| Gates {
                    weights: std::array::from_fn(|g| part(&p.main, (8 * k + g) * b, v)),
                    biases: std::array::from_fn(|g| part(&p.main, (8 * k + 4 + g) * b, v)),
                })
                .collect(),
            extra: (0..vectors).map(|v| std::array::from_fn(|g| part(&p.extra, g * b, v))).collect(),
            sequence: each(p.c).map(|(t, v)| part(&p.sequence, t * b, v)).collect(),
            start: each(p.layers)
                .map(|(k, v)| Kept {
                    hidden: part(&p.state, 2 * k * b, v),
                    cell: part(&p.state, (2 * k + 1) * b, v),
                    ..NOTHING
                })
                .collect(),
            mask: (0..vectors)
                .map(|v| Lanes::from_fn(|l| if WIDTH * v + l < b { 1.0 } else { 0.0 }))
                .collect(),
            kept: vec![NOTHING; p.c * p.layers * vectors],
            shares: vec![Lanes::ZERO; p.c * vectors],
            gates_bar: vec![NO_GATES; p.layers * vectors],
            extra_bar: vec![[Lanes::ZERO; 3]; vectors],
            vectors,
            value: 0.0,
            p,
        }
    }

    #[inline(always)]
    fn forward(&mut self, keep: bool) {
        let (vectors, layers) = (self.vectors, self.p.layers);
        let cells = layers * vectors;
        self.kept[..cells].copy_from_slice(&self.start);
        let mut sum = 0.0;
        for t in 0..self.p.c - 1 {
            // Without keeping, two steps take turns.
            let (old, new) = if keep { (t, t + 1) } else { (t % 2, (t + 1) % 2) };
            let [old, new] = self
                .kept
                .get_disjoint_mut([old * cells..(old + 1) * cells, new * cells..(new + 1) * cells])
                .expect("different steps");
            let (now, next) = self.sequence[t * vectors..(t + 2) * vectors].split_at(vectors);
            let shares = &mut self.shares[if keep { t * vectors } else { 0 }..][..vectors];
            // Layer by layer: the vectors of a layer do not wait for each other.
            for at in 0..cells {
                let z = if at < vectors { now[at] * self.extra[at][0] } else { new[at - vectors].hidden };
                let Gates { weights: w, biases: b } = &self.gates[at];
                let Kept { hidden: h, cell, .. } = old[at];
                let forget = z.mul_add(w[0], b[0]).sigmoid();
                let ingate = h.mul_add(w[1], b[1]).sigmoid();
                let outgate = z.mul_add(w[2], b[2]).sigmoid();
                let change = h.mul_add(w[3], b[3]).tanh();
                let cell = cell.mul_add(forget, ingate * change);
                let tanh = cell.tanh();
                new[at] = Kept { forget, ingate, outgate, change, tanh, cell, hidden: outgate * tanh };
            }
            let (mut exps, mut bits, mut fit) = (Lanes::ZERO, Lanes::ZERO, Lanes::ZERO);
            for v in 0..vectors {
                let [_, w_out, b_out] = self.extra[v];
                let y = new[cells - vectors + v].hidden.mul_add(w_out, b_out);
                shares[v] = y.exp() * self.mask[v];
                exps += shares[v];
                bits += next[v];
                fit = next[v].mul_add(y, fit);
            }
            let exps = 2.0 + exps.sum();
            let scale = Lanes::splat(1.0 / exps);
            shares.iter_mut().for_each(|share| *share = *share * scale);
            sum += fit.sum() - bits.sum() * exps.ln();
        }
        self.value = sum * self.p.scale();
    }
}

impl ByHand for Lstm {
    #[inline(always)]
    fn primal(&mut self) {
        self.forward(false);
    }

    #[inline(always)]
    fn gradient(&mut self) {
        self.forward(true);
        let (vectors, layers) = (self.vectors, self.p.layers);
        let cells = layers * vectors;
        self.gates_bar.fill(NO_GATES);
        self.extra_bar.fill([Lanes::ZERO; 3]);
        // Cotangents of hidden states and cells between steps.
        let mut state_bar = vec![(Lanes::ZERO, Lanes::ZERO); cells];
        let one = Lanes::splat(1.0);
        let scale = Lanes::splat(self.p.scale());
        for t in (0..self.p.c - 1).rev() {
            let (old, new) = self.kept[t * cells..(t + 2) * cells].split_at(cells);
            let (now, next) = self.sequence[t * vectors..(t + 2) * vectors].split_at(vectors);
            let bits = Lanes::splat(next.iter().fold(Lanes::ZERO, |sum, x| sum + *x).sum());
            for v in 0..vectors {
                let [w_in, w_out, _] = self.extra[v];
                let [in_bar, out_bar, bias_bar] = &mut self.extra_bar[v];
                // Of y: through the fit, and through the normalisation.
                let y_bar = scale * bits.mul_sub_from(self.shares[t * vectors + v], next[v]);
                *out_bar = y_bar.mul_add(new[cells - vectors + v].hidden, *out_bar);
                *bias_bar += y_bar;
                let mut up_bar = y_bar * w_out;
                for at in (v..cells).step_by(vectors).rev() {
                    let k = new[at];
                    let z = if at < vectors { now[v] * w_in } else { new[at - vectors].hidden };
                    let h = old[at].hidden;
                    let w = self.gates[at].weights;
                    let (h_bar, cell_bar) = state_bar[at];
                    let hidden_bar = h_bar + up_bar;
                    let cell_bar =
                        (hidden_bar * k.outgate).mul_add(k.tanh.mul_sub_from(k.tanh, one), cell_bar);
                    // Of the arguments of the gates: s' = s − s², tanh' = 1 − tanh².
                    let slope = |s: Lanes| s.mul_sub_from(s, s);
                    let bars = [
                        cell_bar * old[at].cell * slope(k.forget),
                        cell_bar * k.change * slope(k.ingate),
                        hidden_bar * k.tanh * slope(k.outgate),
                        cell_bar * k.ingate * k.change.mul_sub_from(k.change, one),
                    ];
                    let Gates { weights, biases } = &mut self.gates_bar[at];
                    for (gate, input) in [z, h, z, h].into_iter().enumerate() {
                        weights[gate] = bars[gate].mul_add(input, weights[gate]);
                        biases[gate] += bars[gate];
                    }
                    up_bar = bars[0].mul_add(w[0], bars[2] * w[2]);
                    state_bar[at] = (bars[1].mul_add(w[1], bars[3] * w[3]), cell_bar * k.forget);
                }
                *in_bar = up_bar.mul_add(now[v], *in_bar);
            }
        }
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }

    fn slopes(&self) -> Vec<f64> {
        let Network { layers, b, .. } = self.p;
        let mut out = vec![];
        // Rows of four gates: the weights and then the biases of each layer.
        for row in 0..2 * layers {
            for gate in 0..4 {
                out.extend((0..b).map(|i| {
                    let gates = &self.gates_bar[row / 2 * self.vectors + i / WIDTH];
                    let part = if row % 2 == 0 { &gates.weights } else { &gates.biases };
                    part[gate].array()[i % WIDTH]
                }));
            }
        }
        for row in 0..3 {
            out.extend((0..b).map(|i| self.extra_bar[i / WIDTH][row].array()[i % WIDTH]));
        }
        out
    }
}
