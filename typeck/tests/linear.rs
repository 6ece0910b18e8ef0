//! The linear language in text: every former elaborates and passes the checker; what is not linear is rejected by its rule.

mod common;
use common::{checked, flat, program, value};

#[test]
fn formers() {
    for text in [
        // l-var, l-plus, l-zero, l-op
        "def f (a : real) : real -o real = \\(v : real) -o a * v + v + zero[real]\n",
        "def f (a : real) : real -o real = \\(v : real) -o v * a - v / a + -v\n",
        // l-pair, l-fst, l-unit, patterns
        "def f : (real, real) -o (real, (), real) = \\(v : (real, real)) -o (v.1, zero[()], v.0)\n",
        "def f : (real, real) -o real = \\((a, b) : (real, real)) -o a + b\n",
        "def f : {x : real, y : real} -o {a : real} = \\(v : {x : real, y : real}) -o {a = v.x + v.y}\n",
        // l-app, l-lam
        "def f (l : real -o real) : real -o real = \\(v : real) -o l (l v)\n",
        "def f (l : real -o real) (x : real) : real = l x\n",
        "def f (p : (real, real -o real)) : real -o real = \\(v : real) -o p.1 v\n",
        "def f : real -o real = \\(v : real) -o (\\(w : real) -o w + w) v\n",
        // coproj, envproj
        "def f : real -o (((), real), real) = \\(v : real) -o coproj[(((), real), real)] 1 v\n",
        "def f : (((), real), (real, real)) -o (real, real) = \\(v : (((), real), (real, real))) -o envproj 0 v\n",
        // l-pow, l-pow-app, l-cop, l-cop-elim
        "def f : real -o (real -> real) = \\(v : real) -o \\(x : real) -> x * v\n",
        "def f (x : real) : (real -> real) -o real = \\(p : real -> real) -o p x + p 1.0\n",
        "def f (x : real) : real -o !real * real = \\(v : real) -o tensor x v\n",
        "def f : !real * real -o real = \\(t : !real * real) -o case t of tensor (x : real) (z : real) -> x * z\n",
        // l-let, l-clet, l-if
        "def f (a : real) : real -o real = \\(v : real) -o let (z : real) = a * v in z + z\n",
        "def f (a : real) : real -o real = \\(v : real) -o let b = a * a in b * v\n",
        "def f (a : real) : real -o real = \\(v : real) -o let (z : (real, real)) = zero[(real, real)] in z.0 + v\n",
        "def f (a : real) : real -o real = \\(v : real) -o if a > 0 then v else zero[real]\n",
        // l-build, l-index, l-onehot, l-sum
        "def f [n] (x : real^n) : real^n -o real^n = \\(v : real^n) -o [ x[i] * v[i] | i < n ]\n",
        "def f [n] (x : real^n) : real^n -o real = \\(v : real^n) -o suml i < n -> x[i] * v[i]\n",
        "def f [n] (k : int) : real -o real^n = \\(v : real) -o onehot[n] k v\n",
        "def f [n] : real^n -o real = \\(v : real^n) -o suml i < n -> suml j < i -> v[j]\n",
        "def f [n, m] : real^(n, m) -o real^(m, n) = \\(v : real^(n, m)) -o [ v[j, i] | i < m, j < n ]\n",
        // l-loop
        "def f [n] (x : real^n) : real -o (real, real^n) = \\(v : real) -o loop_up z = v for i < n do (x[i] * z, z)\n",
        "def f [n] (x : real^n) : real -o (real, real^n) = \\(v : real) -o loop_down (z : real) = v for i < n do (x[i] * z, z)\n",
        // What is made of formers
        "def f (a : real) : (real, real^3) -o (real, real^3) = \\v -o a * v - v / a\n",
        "def f [n] (a : real^n) : real^n -o real^n = \\v -o a * v - 2 * v * a\n",
        "def f [n] (a : real^n) : real -o real^n = \\v -o a * v\n",
        "def f : {a : real, b : real^2} -o {a : real, b : real^2} = \\v -o -v\n",
        "def f : real -o real^2 = \\v -o [v, 2 * v]\n",
        "def f [n, m] : real^(n, m) -o real^m = \\v -o sum v\n",
        // Cartesian values of the linear world
        "def f : real = zero[real]\n",
        "def f [n] : real^n -> real^n = \\x -> zero[real^n]\n",
        "def f (p : bool) : (real, real^3) = if p then unread[(real, real^3)] else (1.0, [1.0, 2.0, 3.0])\n",
        "def f [n] (i : int) (x : real^n) : real = check_index (0 <= i && i < n) i n x[i]\n",
        // D by hand
        "def sq'rev (x : real) : (real, real -o real) = let p = (x * x, \\(w : real) -o x * w + x * w) in p\n",
        "def f (x : real) : D (real, int) -o (real, ()) = \\(v : D (real, int)) -o v\n",
    ] {
        program(text);
    }
}

#[test]
fn linear_maps_run() {
    let text = "def sq'rev (x : real) : (real, real -o real) = (x * x, \\(w : real) -o x * w + x * w)
def main : (real, real) = let p = sq'rev 3.0 in (p.0, p.1 1.0)
";
    assert_eq!(flat(&value(text)), [9.0, 6.0]);
}

#[test]
fn what_is_not_linear() {
    for (body, code, words) in [
        ("v * v", "E0503", "l-op"),
        ("v + 1", "E0506", "l-zero"),
        ("exp v", "E0508", "`exp` is applied"),
        ("a", "E0506", "l-zero"),
        ("a / v", "E0502", "divisor"),
        ("v ^ 2", "E0502", "`^` is not linear"),
        ("if v > 0 then v else v", "E0501", "`v`"),
        ("a * (a + v) * (v + a)", "E0503", "l-op"),
        ("max v 0.0", "E0508", "`max` is applied"),
        ("[v, 1.0][0]", "E0506", "l-zero"),
        ("v[1:][0]", "E0507", "no rule"),
        ("let z = v in z * z", "E0503", "l-op"),
        ("(\\(w : real) -o v) v", "E0505", "not seen"),
        ("l2 v v", "E0201", "`l2`"),
        ("w", "E0201", "`w`"),
        ("(tensor v v)", "E0501", "`v`"),
    ] {
        let text = format!("def f (a : real) : real -o real = \\(v : real) -o {body}\n");
        let c = checked(&text);
        let found = c.diagnostics.iter().find(|d| d.code == code && d.message.contains(words));
        let found = found.unwrap_or_else(|| panic!("{body}: no {code} in {:?}", c.diagnostics));
        assert!(!found.labels.is_empty());
    }
    let text = "def f (a : real) : int -o real = \\(v : int) -o a\n";
    assert_eq!(checked(text).diagnostics[0].code, "E0504");
}
