//! A whole demo, read once to learn and once to rewrite.

use std::io::{Read, Seek, Write};
use std::ops::ControlFlow;

use super::archive::{self, Event};
use super::spelling;
use super::window::Window;
use super::{Anonymizer, Learner};
use crate::{Demo, DemoError, Header, RewriteError, Trailer, Writer, WriterOptions};

/// Bytes of a state archive that are written at once.
const CHUNK_BYTES: usize = 1 << 20;

impl Learner {
    /// Looks at everything in a demo.
    ///
    /// # Errors
    /// [`DemoError`] when the demo cannot be read to its end.
    pub fn demo<R: Read + Seek>(&mut self, demo: &mut Demo<R>) -> Result<(), DemoError> {
        self.header(&demo.header().clone());
        self.trailer(&demo.trailer().cloned().unwrap_or_default());
        for dir in demo.archives() {
            self.state_archive(demo.state_archive(dir))?;
        }
        demo.for_each_record(|_, record| {
            self.learn(record);
            ControlFlow::Continue(())
        })
    }

    fn header(&mut self, header: &Header) {
        self.environment(&header.environment);
        // The command is a path as often as not.
        let (command, arguments) = header.argv.split_first().map_or((&[][..], &[][..]), |(first, rest)| (first, rest));
        for argument in arguments {
            self.text(argument);
        }
        let paths = header.state_directories.iter().chain(&header.excluded_objects).map(Vec::as_slice);
        for path in paths.chain([command, &header.executable, &header.cwd]) {
            self.path(path);
        }
        for (_, value) in &header.properties {
            self.text(value);
        }
    }

    fn trailer(&mut self, trailer: &Trailer) {
        let files = trailer.files.iter().map(|file| &file.path);
        for path in files.chain(trailer.objects.iter().map(|object| &object.path)).chain(&trailer.unsearched) {
            self.path(path);
        }
        for note in &trailer.notes {
            self.text(note.as_bytes());
        }
    }

    fn state_archive(&mut self, from: impl Read) -> Result<(), DemoError> {
        let mut window = Window::default();
        archive::walk(from, |event| {
            match event {
                Event::Header(header) => {
                    archive::TEXTS.into_iter().for_each(|field| self.text(archive::text(header, field)))
                }
                Event::Content { bytes, last } => {
                    window
                        .push(bytes, last, spelling::BEFORE, |text, start, _, last| self.text_from(text, start, last));
                }
            }
            Ok(())
        })
    }
}

impl Anonymizer {
    /// Writes the demo again with everything replaced that was learned. A cut demo becomes a complete
    /// one that holds what remained.
    ///
    /// # Errors
    /// [`RewriteError`] from either side.
    pub fn demo<R: Read + Seek, W: Write>(&mut self, demo: &mut Demo<R>, out: W) -> Result<W, RewriteError> {
        let header = self.header(demo.header().clone());
        let trailer = self.trailer(demo.trailer().cloned().unwrap_or_default());
        let mut writer = Writer::new(out, &header, WriterOptions::default())?;
        for dir in demo.archives() {
            let mut chunk = Vec::new();
            self.state_archive(demo.state_archive(dir), |bytes| {
                chunk.extend_from_slice(bytes);
                // A block for each piece of the archive would compress badly.
                if chunk.len() >= CHUNK_BYTES {
                    writer.state_chunk(dir, &chunk)?;
                    chunk.clear();
                }
                Ok(())
            })?;
            writer.state_chunk(dir, &chunk)?;
        }
        let mut records = demo.records();
        let mut record = Vec::new();
        while let Some((process, raw)) = records.next()? {
            record.clear();
            record.extend_from_slice(raw);
            self.rewrite(&mut record);
            writer.push(process, &record)?;
        }
        Ok(writer.finish(&trailer)?.0)
    }

    fn header(&mut self, mut header: Header) -> Header {
        self.environment(&mut header.environment);
        let paths = header.state_directories.iter_mut().chain(&mut header.excluded_objects);
        for text in paths.chain(&mut header.argv).chain([&mut header.executable, &mut header.cwd]) {
            self.text(text);
        }
        for (name, value) in &mut header.properties {
            self.string(name);
            self.text(value);
        }
        for text in header.cpu_flags.iter_mut().chain([&mut header.cpu_model, &mut header.kernel_release]) {
            self.string(text);
        }
        header
    }

    fn trailer(&mut self, mut trailer: Trailer) -> Trailer {
        // What stands in these files may be replaced.
        trailer.files.iter_mut().filter(|file| file.content.is_some()).for_each(|file| file.hash = [0; 32]);
        let files = trailer.files.iter_mut().map(|file| &mut file.path);
        for path in
            files.chain(trailer.objects.iter_mut().map(|object| &mut object.path)).chain(&mut trailer.unsearched)
        {
            self.text(path);
        }
        for note in &mut trailer.notes {
            self.string(note);
        }
        trailer
    }

    fn string(&mut self, text: &mut String) {
        let mut bytes = std::mem::take(text).into_bytes();
        self.text(&mut bytes);
        // A replacement given by the user may cut a character in two.
        *text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    }

    /// Rewrites names and contents in the tar archive of a state directory and hands it on in pieces.
    ///
    /// # Errors
    /// Those of `from` and of `write`.
    pub fn state_archive(
        &mut self,
        from: impl Read,
        mut write: impl FnMut(&[u8]) -> Result<(), RewriteError>,
    ) -> Result<(), RewriteError> {
        let (mut window, mut out) = (Window::default(), Vec::new());
        archive::walk(from, |event| match event {
            Event::Header(header) => {
                for field in archive::TEXTS {
                    self.text(archive::text_mut(header, field));
                }
                archive::mend(header);
                write(header)
            }
            Event::Content { bytes, last } => {
                let mut written = 0..0;
                window.push(bytes, last, spelling::BEFORE, |text, start, _, last| {
                    out.clear();
                    out.extend_from_slice(text);
                    let decided = self.text_from(text, start, last, &mut out);
                    written = start..decided;
                    decided
                });
                write(out.get(written).unwrap_or_default())
            }
        })
    }
}
