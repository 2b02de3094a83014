//! Cases of SIMD widths: a sum and a copy in registers of 64, 128, 256 and 512 bits.

use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::experiment::Experiment;
use crate::experiments::size_word;
use crate::streams::{Stream, Width, code};
use crate::tester::Passes;
use crate::unsupported::Unsupported;

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let mut cases = Vec::new();
    let (kind, levels) = (setting.huge, setting.levels());
    for stream in [Stream::Sum, Stream::Copy] {
        for (level, size) in &levels {
            for width in Width::ALL {
                let each = if stream.copies() { size / 2 } else { *size };
                let bits = match (stream, width) {
                    // A sum of 32-bit numbers without vectors takes one at a time.
                    (Stream::Sum, Width::Scalar) => 32,
                    _ => width.bits(),
                };
                let name = format!("{} of {} in {level}, {bits} bits at a time", stream.word(), size_word(*size));
                let run = move |context: &mut CaseContext| {
                    if let Some(missing) = width.missing() {
                        return Err(Unsupported::because(format!("this processor has no {missing}")));
                    }
                    let code = code(stream, width)?;
                    let (a, b) = context.memory.pair(kind)?;
                    let (a, b) = (&mut a[..each], &mut b[..each]);
                    code.run(1, a, b, each);
                    let series = context.tester.repeat(Passes::Calibrated, |passes| {
                        code.run(passes, a, b, each);
                    })?;
                    Ok(Outcome { series, listing: Some(code.listing()), facts: Vec::new() })
                };
                cases.push(
                    Case::new(Experiment::Simd, name, Measure::BytesEachSecond(each as f64), run)
                        .with("way", stream.word())
                        .with("bits", bits)
                        .with("level", level)
                        .with("bytes", size)
                        .with("pages", kind),
                );
            }
        }
    }
    Ok(cases)
}
