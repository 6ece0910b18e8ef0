//! The machine compiled for, and LLVM's optimisation pipeline.

use crate::{CodegenError, Options, Result};
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

    /// Doubles in a vector register.
    pub fn lanes(&self) -> u32 {
        match (self.has("avx512f"), self.has("avx2")) {
            (true, _) => 8,
            (false, true) => 4,
            (false, false) => 2,
        }
    }

    pub fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|f| f.strip_prefix('+') == Some(feature))
    }
}

/// Position-independent code for this machine.
pub fn machine(options: &Options) -> Result<TargetMachine> {
    let cpu = Cpu::host()?;
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
