//! The special functions against values computed with 40 digits and more (mpmath), rounded to the nearest double.

use lang::core::Lit;
use lang::precision::Precision;
use lang::prim::{Prim, digamma, normal_quantile, polygamma, random_bits, real, trigamma};

/// Every value within so many units in the last place of the expected one.
fn within(ulps: f64, f: impl Fn(f64) -> f64, table: &[(f64, f64)]) {
    for (x, want) in table {
        let ulp = f64::from_bits(want.abs().to_bits() + 1) - want.abs();
        let (got, error) = (f(*x), (f(*x) - want).abs() / ulp);
        assert!(error <= ulps, "at {x}: {got}, expected {want}, {error} ulp off");
    }
}

fn value(p: Prim) -> impl Fn(f64) -> f64 {
    move |x| real((p.row().eval)(&[Lit::Real(x)]))
}

#[test]
fn erf_is_accurate() {
    within(
        1.0,
        value(Prim::Erf),
        &[
            (1e-10, 1.128_379_167_095_512_6e-10),
            (0.1, 0.112_462_916_018_284_9),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.5, 0.999_593_047_982_555),
            (5.0, 0.999_999_999_998_462_6),
            (-0.75, -0.711_155_633_653_515_1),
        ],
    );
}

#[test]
fn erfc_is_accurate() {
    within(
        3.0,
        value(Prim::Erfc),
        &[
            (-2.0, 1.995_322_265_018_952_8),
            (0.1, 0.887_537_083_981_715),
            (0.5, 0.479_500_122_186_953_5),
            (1.0, 0.157_299_207_050_285_13),
            (2.5, 0.000_406_952_017_444_958_9),
            (5.0, 1.537_459_794_428_035e-12),
            (10.0, 2.088_487_583_762_545e-45),
            (25.0, 8.300_172_571_196_523e-274),
        ],
    );
}

#[test]
fn lgamma_is_accurate() {
    within(
        4.0,
        value(Prim::Lgamma),
        &[
            (1e-05, 11.512_919_692_895_826),
            (0.5, 0.572_364_942_924_700_1),
            (1.5, -0.120_782_237_635_245_22),
            (3.0, std::f64::consts::LN_2),
            (10.25, 13.368_023_671_476_045),
            (100.0, 359.134_205_369_575_4),
            (1_000_000.0, 12_815_504.569_147_611),
            (-0.5, 1.265_512_123_484_645_4),
            (-3.7, -1.379_739_904_965_824_5),
        ],
    );
}

#[test]
fn digamma_is_accurate() {
    within(
        8.0,
        digamma,
        &[
            (1e-08, -100_000_000.577_215_64),
            (0.1, -10.423_754_940_411_076),
            (0.5, -1.963_510_026_021_423_5),
            (1.0, -0.577_215_664_901_532_9),
            (1.25, -0.227_453_533_376_265_42),
            (1.461_632_144_968_362_2, -9.241_265_521_729_427e-17),
            (1.5, 0.036_489_973_978_576_52),
            (2.0, 0.422_784_335_098_467_13),
            (5.5, 1.611_093_148_581_751_2),
            (20.0, 2.970_523_992_242_149),
            (100_000.0, 11.512_920_464_961_896),
            (1e300, 690.775_527_898_213_7),
            (-3.7, -0.845_076_858_870_419_4),
            (-100.25, 7.754_238_959_208_646),
            (-1e-06, 999_999.422_782_690_3),
        ],
    );
    // Near a zero left of 0.
    assert!((digamma(-0.5) - 0.036_489_973_978_576_52).abs() < 1e-15);
}

#[test]
fn trigamma_is_accurate() {
    within(
        4.0,
        trigamma,
        &[
            (1e-08, 1.000_000_000_000_000_2e16),
            (0.1, 101.433_299_150_792_75),
            (0.5, 4.934_802_200_544_679),
            (1.0, 1.644_934_066_848_226_4),
            (1.5, 0.934_802_200_544_679_3),
            (3.25, 0.359_798_290_309_579_9),
            (20.0, 0.051_270_822_935_203_12),
            (100_000.0, 1.000_005_000_016_666_7e-05),
            (-0.5, 8.934_802_200_544_679),
            (-3.7, 14.842_421_864_124_28),
            (-1e-10, 1e20),
            (-50.125, 67.374_121_958_684_4),
        ],
    );
}

#[test]
fn polygamma_is_accurate() {
    within(
        8.0,
        |x| polygamma(2, x),
        &[
            (0.01, -2_000_002.340_398_677),
            (0.5, -16.828_796_644_234_32),
            (1.0, -2.404_113_806_319_188_5),
            (4.75, -0.054_620_412_589_973_34),
            (30.0, -0.001_148_765_203_728_6),
            (-0.25, 122.697_366_783_662_36),
            (-2.75, -124.117_653_059_715_18),
        ],
    );
    within(
        8.0,
        |x| polygamma(3, x),
        &[
            (0.01, 600_000_006.251_061_8),
            (0.5, 97.409_091_034_002_44),
            (1.0, 6.493_939_402_266_829),
            (4.75, 0.025_364_520_004_653_77),
            (30.0, 7.786_003_664_736_13e-05),
            (-0.25, 1_555.763_312_534_850_7),
            (-2.5, 194.747_876_219_187_62),
        ],
    );
    within(
        8.0,
        |x| polygamma(5, x),
        &[
            (0.01, 120_000_000_000_115.05),
            (0.5, 7_691.113_548_602_436),
            (1.0, 122.081_167_438_133_9),
            (4.75, 0.016_207_179_730_079_9),
            (30.0, 1.072_699_493_616_162_3e-06),
            (-0.25, 492_198.753_342_874_6),
            (-2.5, 15_382.140_048_026_304),
        ],
    );
    within(
        8.0,
        |x| polygamma(20, x),
        &[
            (0.01, -2.432_902_008_176_638_8e60),
            (0.5, -5.102_165_312_739_43e24),
            (1.0, -2.432_903_168_507_861_5e18),
            (4.75, -15_262.610_109_991_077),
            (30.0, -4.786_085_204_571_764e-13),
            (-0.25, 1.070_001_618_789_627_5e31),
            (-2.5, -9_182_070.204_945_628),
        ],
    );
}

#[test]
fn normal_quantile_is_accurate() {
    within(
        4.0,
        normal_quantile,
        &[
            (1e-300, -37.047_096_299_361_2),
            (1e-100, -21.273_453_560_965_326),
            (1e-12, -7.034_483_825_301_132),
            (2e-07, -5.068_957_749_717_79),
            (0.001, -3.090_232_306_167_813_6),
            (0.05, -1.644_853_626_951_472_6),
            (0.08, -1.405_071_560_309_632_7),
            (0.3, -0.524_400_512_708_040_8),
            (0.45, -0.125_661_346_855_074_02),
            (0.5, 0.0),
            (0.6, 0.253_347_103_135_799_7),
            (0.9, 1.281_551_565_544_600_6),
            (0.95, 1.644_853_626_951_472_2),
            (0.999, 3.090_232_306_167_813),
        ],
    );
}

#[test]
fn poles_and_limits() {
    assert_eq!(digamma(0.0), f64::NEG_INFINITY);
    assert_eq!(digamma(-0.0), f64::INFINITY);
    assert!(digamma(-3.0).is_nan() && digamma(f64::NAN).is_nan() && digamma(f64::NEG_INFINITY).is_nan());
    assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
    assert_eq!((trigamma(0.0), trigamma(-2.0)), (f64::INFINITY, f64::INFINITY));
    assert_eq!(trigamma(f64::INFINITY), 0.0);
    assert!(polygamma(2, -2.0).is_nan() && polygamma(-1, 1.0).is_nan() && polygamma(i64::MAX, 1.0).is_nan());
    assert_eq!(polygamma(0, 2.5), digamma(2.5));
    assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    assert!(
        normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan() && normal_quantile(f64::NAN).is_nan()
    );
}

/// The quantile is increasing and odd about ½ across the seams of its pieces.
#[test]
fn normal_quantile_has_no_seams() {
    let seams = [0.075, 0.925, (-16.0f64).exp(), 1.0 - (-16.0f64).exp()];
    for p in seams.into_iter().chain((1..200).map(|k| k as f64 / 200.0)) {
        let (below, above) = (normal_quantile(p * (1.0 - 1e-13)), normal_quantile(p * (1.0 + 1e-13)));
        assert!(below < above, "falls at {p}");
        assert!((normal_quantile(0.5 + p / 4.0) + normal_quantile(0.5 - p / 4.0)).abs() < 1e-15);
    }
}

fn random(p: Prim, seed: i64, i: i64) -> f64 {
    real((p.row().eval)(&[Lit::Int(seed), Lit::Int(i)]))
}

/// These bits are a promise: programs print results that depend on them. (Computed independently, in Python.)
#[test]
fn random_numbers_stay_what_they_are() {
    let bits: Vec<u64> =
        [(0, 0), (0, 1), (1, 0), (-7, 123_456)].map(|(s, i)| random_bits(s, i) as u64).into();
    assert_eq!(bits, BITS);
    assert_eq!(random(Prim::RandomUniform, 42, 7), 0.662_104_933_726_716_6);
    // The quantile itself is 0.418 214 722 490 186 26.
    assert_eq!(random(Prim::RandomNormal, 42, 7), 0.418_214_722_490_186_15);
}

/// Mean and variance over many seeds and counters, at five standard errors; every bit is set half of the time, and
/// flipping one bit of a seed or counter flips half the bits.
#[test]
fn random_numbers_look_random() {
    let n = 40_000i64;
    let moments = |p: Prim, mean: f64, variance: f64, fourth: f64| {
        let xs: Vec<f64> = (0..n).map(|k| random(p, k % 200, k / 200) - mean).collect();
        let average = |f: &dyn Fn(f64) -> f64| xs.iter().map(|x| f(*x)).sum::<f64>() / n as f64;
        assert!(average(&|x| x).abs() < 5.0 * (variance / n as f64).sqrt());
        let spread = ((fourth - variance * variance) / n as f64).sqrt();
        assert!((average(&|x| x * x) - variance).abs() < 5.0 * spread);
    };
    moments(Prim::RandomUniform, 0.5, 1.0 / 12.0, 1.0 / 80.0);
    moments(Prim::RandomNormal, 0.0, 1.0, 3.0);
    let near_half = |ones: f64, trials: f64| (ones / trials - 0.5).abs() < 5.0 * 0.5 / trials.sqrt();
    for bit in 0..64 {
        let ones = (0..n).filter(|k| random_bits(3, *k) >> bit & 1 == 1).count();
        assert!(near_half(ones as f64, n as f64), "bit {bit}: {ones} of {n}");
        let m = 2_000;
        let by_seed =
            (0..m).map(|k| (random_bits(k, k) ^ random_bits(k ^ 1 << bit, k)).count_ones()).sum::<u32>();
        let by_counter =
            (0..m).map(|k| (random_bits(k, k) ^ random_bits(k, k ^ 1 << bit)).count_ones()).sum::<u32>();
        for flips in [by_seed, by_counter] {
            assert!(near_half(flips as f64, 64.0 * m as f64), "flipping bit {bit}: {flips}");
        }
    }
}

const BITS: [u64; 4] = [3531997233750407150, 17603550637309148625, 16201875180836394565, 5076422662503020496];

/// In single precision the draws are those of doubles: uniform ones rounded down, so that none is 1, normal ones to nearest, so that none is infinite.
#[test]
fn draws_of_singles_are_those_of_doubles_rounded() {
    let value = |p: Prim, word: i64, precision| real(p.value(&[Lit::Int(word)], precision).unwrap());
    let words = (0..1000).map(|k| random_bits(9, k)).chain([0, 1, -1, i64::MAX, i64::MIN, -2048]);
    for word in words {
        let [double, single] = [Precision::Double, Precision::Single]
            .map(|precision| value(Prim::UniformOfBits, word, precision));
        assert!((0.0..1.0).contains(&single) && single <= double && double - single < 2f64.powi(-24));
        assert_eq!(single, Precision::Single.round(single));
        let [double, single] = [Precision::Double, Precision::Single]
            .map(|precision| value(Prim::NormalOfBits, word, precision));
        assert!(single.is_finite() && single == f64::from(double as f32), "{word}: {single} {double}");
    }
    assert_eq!(value(Prim::UniformOfBits, -1, Precision::Single), 1.0 - 2f64.powi(-24));
    assert_eq!(value(Prim::UniformOfBits, -1, Precision::Double), 1.0 - 2f64.powi(-53));
}
