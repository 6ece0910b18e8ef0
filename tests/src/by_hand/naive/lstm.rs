//! A recurrent network with diagonal weights. The forward sweep keeps the gates and states of every step; the reverse sweep goes
//! back through the steps, and in each through the layers from the last to the first.

use crate::by_hand::{ByHand, Json, length, reals};

/// The data, row by row: of each layer the weights and then the biases of the four gates, forget, ingate, outgate, change.
pub struct Network {
    pub layers: usize,
    pub b: usize,
    pub c: usize,
    pub main: Vec<f64>,
    pub extra: Vec<f64>,
    pub state: Vec<f64>,
    pub sequence: Vec<f64>,
}

impl Network {
    pub fn new(input: &Json) -> Network {
        let state = &input["state"];
        Network {
            layers: length(state) / 2,
            b: length(&state[0]),
            c: length(&input["sequence"]),
            main: reals(&input["main_params"]),
            extra: reals(&input["extra_params"]),
            state: reals(state),
            sequence: reals(&input["sequence"]),
        }
    }

    /// f is the sum of what the steps give, times this.
    pub fn scale(&self) -> f64 {
        -1.0 / ((self.c - 1) as f64 * self.b as f64)
    }
}

/// What is kept of one cell at one step.
#[derive(Clone, Copy, Default)]
struct Kept {
    forget: f64,
    ingate: f64,
    outgate: f64,
    change: f64,
    /// Of the new cell.
    tanh: f64,
    cell: f64,
    hidden: f64,
}

pub struct Lstm {
    p: Network,
    /// By step (the first is the start), layer and element.
    kept: Vec<Kept>,
    /// exp of the predictions at each step, divided by 2 + their sum.
    shares: Vec<f64>,
    main_bar: Vec<f64>,
    extra_bar: Vec<f64>,
    value: f64,
}

#[inline(always)]
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Lstm {
    pub fn new(input: &Json) -> Lstm {
        let p = Network::new(input);
        Lstm {
            kept: vec![Kept::default(); p.c * p.layers * p.b],
            shares: vec![0.0; p.c * p.b],
            main_bar: vec![0.0; p.main.len()],
            extra_bar: vec![0.0; p.extra.len()],
            value: 0.0,
            p,
        }
    }

    /// Where the cells of a layer at a step begin. Without keeping, two steps take turns.
    fn place(&self, keep: bool, step: usize, layer: usize) -> usize {
        let step = if keep { step } else { step % 2 };
        (step * self.p.layers + layer) * self.p.b
    }

    #[inline(always)]
    fn forward(&mut self, keep: bool) {
        let Network { layers, b, c, .. } = self.p;
        for layer in 0..layers {
            let at = self.place(keep, 0, layer);
            for i in 0..b {
                self.kept[at + i].hidden = self.p.state[2 * layer * b + i];
                self.kept[at + i].cell = self.p.state[(2 * layer + 1) * b + i];
            }
        }
        let mut sum = 0.0;
        for t in 0..c - 1 {
            for layer in 0..layers {
                let (old, new) = (self.place(keep, t, layer), self.place(keep, t + 1, layer));
                let below = new.wrapping_sub(b);
                let (w, v) = self.p.main[layer * 8 * b..][..8 * b].split_at(4 * b);
                for i in 0..b {
                    let z = match layer {
                        0 => self.p.sequence[t * b + i] * self.p.extra[i],
                        _ => self.kept[below + i].hidden,
                    };
                    let Kept { hidden: h, cell, .. } = self.kept[old + i];
                    let forget = sigmoid(z * w[i] + v[i]);
                    let ingate = sigmoid(h * w[b + i] + v[b + i]);
                    let outgate = sigmoid(z * w[2 * b + i] + v[2 * b + i]);
                    let change = (h * w[3 * b + i] + v[3 * b + i]).tanh();
                    let cell = cell * forget + ingate * change;
                    let tanh = cell.tanh();
                    let hidden = outgate * tanh;
                    self.kept[new + i] = Kept { forget, ingate, outgate, change, tanh, cell, hidden };
                }
            }
            let last = self.place(keep, t + 1, layers - 1);
            let (w, v) = (&self.p.extra[b..2 * b], &self.p.extra[2 * b..]);
            let next = &self.p.sequence[(t + 1) * b..][..b];
            let shares = &mut self.shares[if keep { t * b } else { 0 }..][..b];
            let (mut exps, mut bits, mut fit) = (2.0, 0.0, 0.0);
            for i in 0..b {
                let y = self.kept[last + i].hidden * w[i] + v[i];
                shares[i] = y.exp();
                exps += shares[i];
                bits += next[i];
                fit += next[i] * y;
            }
            shares.iter_mut().for_each(|share| *share /= exps);
            sum += fit - bits * exps.ln();
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
        let Network { layers, b, c, .. } = self.p;
        self.main_bar.fill(0.0);
        self.extra_bar.fill(0.0);
        // Cotangents of the states between steps, and of what a layer hands to the one above.
        let (mut h_bar, mut cell_bar) = (vec![0.0; layers * b], vec![0.0; layers * b]);
        let mut up_bar = vec![0.0; b];
        for t in (0..c - 1).rev() {
            let last = self.place(true, t + 1, layers - 1);
            let next = &self.p.sequence[(t + 1) * b..][..b];
            let bits: f64 = next.iter().sum();
            for i in 0..b {
                // Of y_i: through the fit, and through the normalisation.
                let y_bar = self.p.scale() * (next[i] - bits * self.shares[t * b + i]);
                self.extra_bar[b + i] += y_bar * self.kept[last + i].hidden;
                self.extra_bar[2 * b + i] += y_bar;
                up_bar[i] = y_bar * self.p.extra[b + i];
            }
            for layer in (0..layers).rev() {
                let (old, new) = (self.place(true, t, layer), self.place(true, t + 1, layer));
                let below = new.wrapping_sub(b);
                let (w, _) = self.p.main[layer * 8 * b..][..8 * b].split_at(4 * b);
                let (w_bar, v_bar) = self.main_bar[layer * 8 * b..][..8 * b].split_at_mut(4 * b);
                for i in 0..b {
                    let k = self.kept[new + i];
                    let z = match layer {
                        0 => self.p.sequence[t * b + i] * self.p.extra[i],
                        _ => self.kept[below + i].hidden,
                    };
                    let Kept { hidden: h, cell: old_cell, .. } = self.kept[old + i];
                    let at = layer * b + i;
                    let hidden_bar = h_bar[at] + up_bar[i];
                    let new_bar = cell_bar[at] + hidden_bar * k.outgate * (1.0 - k.tanh * k.tanh);
                    // Of the arguments of the gates: s' = s (1 − s), tanh' = 1 − tanh².
                    let forget = new_bar * old_cell * k.forget * (1.0 - k.forget);
                    let ingate = new_bar * k.change * k.ingate * (1.0 - k.ingate);
                    let outgate = hidden_bar * k.tanh * k.outgate * (1.0 - k.outgate);
                    let change = new_bar * k.ingate * (1.0 - k.change * k.change);
                    for (gate, (bar, input)) in
                        [(forget, z), (ingate, h), (outgate, z), (change, h)].into_iter().enumerate()
                    {
                        w_bar[gate * b + i] += bar * input;
                        v_bar[gate * b + i] += bar;
                    }
                    up_bar[i] = forget * w[i] + outgate * w[2 * b + i];
                    h_bar[at] = ingate * w[b + i] + change * w[3 * b + i];
                    cell_bar[at] = new_bar * k.forget;
                }
            }
            let inputs = &self.p.sequence[t * b..];
            for ((bar, up), input) in self.extra_bar[..b].iter_mut().zip(&up_bar).zip(inputs) {
                *bar += up * input;
            }
        }
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }
    fn slopes(&self) -> Vec<f64> {
        [&self.main_bar[..], &self.extra_bar[..]].concat()
    }
}
