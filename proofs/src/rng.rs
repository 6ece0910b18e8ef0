//! Numbers from a seed: the same on every machine, so that a failure is told by its seed.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// 0 ≤ k < n, n > 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
    /// lo ≤ k ≤ hi
    pub fn int(&mut self, lo: i64, hi: i64) -> i64 {
        lo + self.below((hi - lo + 1) as usize) as i64
    }
    pub fn real(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// True k times in n.
    pub fn chance(&mut self, k: usize, n: usize) -> bool {
        self.below(n) < k
    }
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
    /// An alternative by weight; the weights are not all 0.
    pub fn weighted<T: Copy>(&mut self, of: &[(usize, T)]) -> T {
        let mut k = self.below(of.iter().map(|(w, _)| w).sum());
        for (w, x) in of {
            if k < *w {
                return *x;
            }
            k -= w;
        }
        unreachable!("k is below the sum of the weights")
    }
}
