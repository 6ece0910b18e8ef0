//! What the caller of a library vouches for: sizes are not negative, and a compound size is what its name says.

use super::*;

/// Checks of the sizes of an entry point, before anything else. They come after the passes, which take for granted what they find out. Arrays of the
/// right length no function can check. `site` is where the entry point is from.
pub fn check_sizes(proc: &mut Proc, def: &Def, site: &Site) {
    let compound = compound_sizes(def);
    let scalar = |p: &Param| match p {
        Param::Scalar(v) => Some(*v),
        Param::Array(_) => None,
    };
    let sizes: Vec<Val> =
        proc.params.iter().map_while(scalar).take(def.sizes.len() + compound.len()).collect();
    let mut ints: HashMap<Var, Val> = def.sizes.iter().cloned().zip(sizes.iter().copied()).collect();
    let mut at = sizes.len();
    let mut lengths = sizes.clone();
    let mentioned = mentioned(def);
    for p in &def.params {
        if p.ty == Type::Int
            && let Some(v) = proc.params.get(at).and_then(scalar)
        {
            ints.insert(p.var.clone(), v);
            lengths.extend(mentioned.contains(&p.var).then_some(v));
        }
        at += leaves(&p.ty).map_or(0, |all| all.len());
    }
    if lengths.is_empty() {
        return;
    }
    let mut checks = Checks { proc, body: vec![] };
    let negative = checks.failure(Failure::NegativeSize, site);
    for n in &lengths {
        let n = Operand::Val(*n);
        let cond = checks.op(Op::ILe, &[Operand::Int(0), n], Scalar::Bool);
        checks.body.push(Stmt::Check { cond, failure: negative, details: vec![n] });
    }
    if !compound.is_empty() {
        let differs = checks.failure(Failure::SizeMismatch, site);
        for (n, given) in compound.iter().zip(&sizes[def.sizes.len()..]) {
            let (given, is) = (Operand::Val(*given), checks.size(n, &ints));
            let cond = checks.op(Op::IEq, &[given, is], Scalar::Bool);
            checks.body.push(Stmt::Check { cond, failure: differs, details: vec![given, is] });
        }
    }
    let first = checks.body;
    proc.body.splice(..0, first);
}

/// The variables that are the length of something: of a parameter or the result.
fn mentioned(def: &Def) -> HashSet<Var> {
    let types = def.params.iter().map(|p| &p.ty).chain([&def.result]);
    let shapes = types.filter_map(leaves).flatten().flat_map(|leaf| leaf.shape);
    shapes.filter_map(|n| n.as_var().cloned()).collect()
}

struct Checks<'p> {
    proc: &'p mut Proc,
    body: Block,
}

impl Checks<'_> {
    /// An entry point and its callees number failures alike.
    fn failure(&mut self, failure: Failure, site: &Site) -> usize {
        let row = (failure, site.clone());
        self.proc.callees.iter_mut().for_each(|f| f.failures.push(row.clone()));
        self.proc.failures.push(row);
        self.proc.failures.len() - 1
    }

    fn op(&mut self, op: Op, args: &[Operand], ty: Scalar) -> Operand {
        let dst = self.proc.val(ty, "n");
        self.body.push(Stmt::Let { dst, op, args: args.to_vec() });
        Operand::Val(dst)
    }

    fn size(&mut self, n: &Size, ints: &HashMap<Var, Val>) -> Operand {
        let mut sum = Operand::Int(0);
        for (m, c) in n.terms.iter() {
            let mut product = Operand::Int(*c);
            for v in m.iter().filter_map(|v| ints.get(v)) {
                product = self.op(Op::IMul, &[product, Operand::Val(*v)], Scalar::Int);
            }
            sum = self.op(Op::IAdd, &[sum, product], Scalar::Int);
        }
        sum
    }
}
