//! The machine compiled for, and LLVM's optimisation pipeline.

use crate::{CodegenError, Options, Result, TargetCpu};
use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};
use std::sync::OnceLock;

/// This machine's processor, by LLVM's names.
pub struct Cpu {
    pub name: String,
    pub features: String,
}

impl Cpu {
    /// This machine's. The first call sets up LLVM's code generator for it.
    pub fn host() -> std::result::Result<&'static Cpu, CodegenError> {
        static HOST: OnceLock<std::result::Result<Cpu, CodegenError>> = OnceLock::new();
        HOST.get_or_init(|| {
            let config = InitializationConfig {
                asm_parser: false,
                disassembler: false,
                ..InitializationConfig::default()
            };
            crate::hints::set_up();
            Target::initialize_native(&config).map_err(CodegenError)?;
            Ok(Cpu {
                name: TargetMachine::get_host_cpu_name().to_string(),
                features: TargetMachine::get_host_cpu_features().to_string(),
            })
        })
        .as_ref()
        .map_err(Clone::clone)
    }

    /// The one asked for.
    pub fn of(target: TargetCpu) -> Result<&'static Cpu> {
        static LEVELS: OnceLock<Vec<Cpu>> = OnceLock::new();
        let host = Cpu::host()?;
        let TargetCpu::Level(level) = target else { return Ok(host) };
        // Each level has the features of those below it.
        let new = [
            "+sse2",
            "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt",
            "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe",
            "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl",
        ];
        let levels = LEVELS.get_or_init(|| {
            let name = |k: usize| if k == 1 { "x86-64".to_string() } else { format!("x86-64-v{k}") };
            (1..=new.len()).map(|k| Cpu { name: name(k), features: new[..k].join(",") }).collect()
        });
        let there = levels.get((level as usize).wrapping_sub(1)).filter(|_| cfg!(target_arch = "x86_64"));
        there.ok_or_else(|| CodegenError(format!("there is no level {level} of this machine's architecture")))
    }

    /// Bytes of a vector register.
    pub fn register(&self) -> u32 {
        match (self.has("avx512f"), self.has("avx2")) {
            (true, _) => 64,
            (false, true) => 32,
            (false, false) => 16,
        }
    }

    /// Does a masked load or store cost no more than another?
    pub fn masks(&self) -> bool {
        self.has("avx512f")
    }

    pub fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|f| f.strip_prefix('+') == Some(feature))
    }
}

/// Position-independent code for the processor asked for.
pub fn machine(options: &Options) -> Result<TargetMachine> {
    let cpu = Cpu::of(options.target)?;
    let triple = TargetMachine::get_default_triple();
    let level = match options.opt_level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    Target::from_triple(&triple)?
        .create_target_machine(&triple, &cpu.name, &cpu.features, level, RelocMode::PIC, CodeModel::Default)
        .ok_or_else(|| CodegenError(format!("LLVM cannot generate code for {triple}")))
}

/// LLVM's own pipeline for the level asked for.
pub fn optimise(module: &Module, machine: &TargetMachine, options: &Options) -> Result<()> {
    let passes = PassBuilderOptions::create();
    passes.set_loop_vectorization(true);
    passes.set_loop_slp_vectorization(true);
    passes.set_loop_interleaving(true);
    passes.set_loop_unrolling(true);
    module.run_passes(&format!("default<O{}>", options.opt_level.min(3)), machine, passes)?;
    Ok(())
}
