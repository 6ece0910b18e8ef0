//! Products of matrices and their gradients: adc, and by hand, at several sizes on one thread. Best times of runs that take turns, as ratios.

use cli::args::Engine;
use cli::data::{Numbers, Tensor};
use cli::embed::Function;
use cli::entry::Ask;
use cli::pipeline::Options;
use cli::timing::used;
use std::hint::black_box;
use std::time::Duration;

const TEXT: &str = "\
def loss [n] (a : real^(n, n)) (b : real^(n, n)) : real =
  sum (map (\\row -> sum (map (\\x -> x * x) row)) (a @ b))
";

/// Row of the result by row of the right factor: what one writes who knows how matrices lie in memory. A gradient has two more such products.
fn by_hand(n: usize, a: &[f64], b: &[f64], product: &mut [f64]) -> f64 {
    product.fill(0.0);
    for (row, out) in a.chunks_exact(n).zip(product.chunks_exact_mut(n)) {
        for (x, b) in row.iter().zip(b.chunks_exact(n)) {
            out.iter_mut().zip(b).for_each(|(out, b)| *out += x * b);
        }
    }
    product.iter().map(|x| x * x).sum()
}

fn main() {
    let options = Options { threads: 1, ..Options::plain(Engine::Jit) };
    let compile = |ask: Ask| {
        Function::compile(TEXT, "loss", &ask, &options)
            .unwrap_or_else(|e| panic!("the program compiles: {e:?}"))
    };
    let (primal, gradient) = (compile(Ask::Value), compile(Ask::Grad(vec![0, 1])));
    println!("{:<8}{:>18}{:>20}{:>18}", "n", "loss / by hand", "gradient / by hand", "gradient / loss");
    for n in [8, 32, 64, 128, 256, 512] {
        let numbers = |k: usize| (0..n * n).map(move |i| ((i * (k + 7)) % 101) as f64 / 50.0 - 1.0).collect();
        let matrices: [Vec<f64>; 2] = [numbers(0), numbers(1)];
        let args: Vec<Vec<Tensor>> = matrices
            .iter()
            .map(|m| vec![Tensor { shape: vec![n, n], data: Numbers::Real(m.clone()) }])
            .collect();
        let call = |f: &Function| {
            let outcome = f.call(&[("n", n as i64)], &args);
            outcome.unwrap_or_else(|e| panic!("the call succeeds: {e:?}"))
        };
        let mut product = vec![0.0; n * n];
        let mut runs: [Box<dyn FnMut() + '_>; 3] = [
            Box::new(|| drop(call(&primal))),
            Box::new(|| drop(call(&gradient))),
            Box::new(|| {
                black_box(by_hand(n, black_box(&matrices[0]), &matrices[1], &mut product));
            }),
        ];
        let mut best = [Duration::MAX; 3];
        for _ in 0..if n < 200 { 200 } else { 10 } {
            for (run, best) in runs.iter_mut().zip(&mut best) {
                let start = used();
                run();
                *best = (*best).min(used() - start);
            }
        }
        let [primal, gradient, hand] = best.map(|t| t.as_secs_f64());
        println!("{n:<8}{:>18.2}{:>20.2}{:>18.2}", primal / hand, gradient / hand, gradient / primal);
    }
}
