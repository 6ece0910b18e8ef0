//! Questions of a loop's body about where in the range it is: `if i == 0`, `if i < m`. The range can be run in pieces in each of which the
//! answer is known.

use super::*;

/// The indices for which a condition holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Where {
    Below(Operand),
    At(Operand),
}

/// The conditions of the body's own branches that are about the loop's index and something known before the loop.
pub fn questions(l: &For) -> Vec<(Val, Where)> {
    let index = Operand::Val(l.index);
    let asked = |v: Val| l.body.iter().any(|s| matches!(s, Stmt::If(i) if i.cond == Operand::Val(v)));
    let inside = |o: Operand| l.body.iter().any(|s| walk::results(s).iter().any(|v| o == Operand::Val(*v)));
    let carried = |o: Operand| l.carried.iter().any(|c| o == Operand::Val(c.param));
    let outside = |o: Operand| o != index && !inside(o) && !carried(o);
    let mut out = vec![];
    for s in &l.body {
        if let Stmt::Let { dst, op, args } = s
            && asked(*dst)
        {
            out.extend(match (op, args.as_slice()) {
                (Op::ILt, [i, m]) if *i == index && outside(*m) => Some((*dst, Where::Below(*m))),
                (Op::IEq, [i, k]) | (Op::IEq, [k, i]) if *i == index && outside(*k) => {
                    Some((*dst, Where::At(*k)))
                }
                _ => None,
            });
        }
    }
    out
}
