//! Messages of Quake III as bits: whole bytes in the fixed Huffman code, what is left of a number before them as it is.

use super::huffman::Code;

/// Reads a message.
pub struct Reader<'a> {
    code: &'a Code,
    content: &'a [u8],
    at: usize,
}

/// The message ends before what it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends;

impl<'a> Reader<'a> {
    /// Reads these bytes, which no longer are scrambled.
    pub fn new(code: &'a Code, content: &'a [u8]) -> Reader<'a> {
        Reader { code, content, at: 0 }
    }

    fn bit(&mut self) -> Option<bool> {
        let bit = self.content.get(self.at / 8)? >> (self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    /// A number of as many bits, at most 32.
    ///
    /// # Errors
    /// [`Ends`] if there are fewer.
    pub fn bits(&mut self, count: u32) -> Result<u32, Ends> {
        let mut value = 0;
        let odd = count % 8;
        for at in 0..odd {
            value |= u32::from(self.bit().ok_or(Ends)?) << at;
        }
        for at in (odd..count).step_by(8) {
            let code = self.code;
            let byte = code.read(|| self.bit()).ok_or(Ends)?;
            value |= u32::from(byte) << at;
        }
        Ok(value)
    }

    /// One bit.
    ///
    /// # Errors
    /// [`Ends`] at the end.
    pub fn flag(&mut self) -> Result<bool, Ends> {
        Ok(self.bits(1)? == 1)
    }

    /// A byte.
    ///
    /// # Errors
    /// [`Ends`] at the end.
    pub fn byte(&mut self) -> Result<u8, Ends> {
        Ok(self.bits(8)? as u8)
    }

    /// A signed number of 16 bits.
    ///
    /// # Errors
    /// [`Ends`] at the end.
    pub fn short(&mut self) -> Result<i16, Ends> {
        Ok(self.bits(16)? as i16)
    }

    /// A signed number of 32 bits.
    ///
    /// # Errors
    /// [`Ends`] at the end.
    pub fn long(&mut self) -> Result<i32, Ends> {
        Ok(self.bits(32)? as i32)
    }

    /// Bytes up to a zero.
    ///
    /// # Errors
    /// [`Ends`] at the end.
    pub fn text(&mut self) -> Result<Vec<u8>, Ends> {
        let mut text = Vec::new();
        loop {
            match self.byte()? {
                0 => return Ok(text),
                byte => text.push(byte),
            }
        }
    }
}

/// Writes a message.
pub struct Writer<'a> {
    code: &'a Code,
    bits: Vec<bool>,
}

impl<'a> Writer<'a> {
    /// An empty message.
    pub fn new(code: &'a Code) -> Writer<'a> {
        Writer { code, bits: Vec::new() }
    }

    /// Appends the low bits of a number.
    pub fn bits(&mut self, value: u32, count: u32) {
        let odd = count % 8;
        self.bits.extend((0..odd).map(|at| value >> at & 1 == 1));
        for at in (odd..count).step_by(8) {
            self.bits.extend(self.code.bits((value >> at) as u8));
        }
    }

    /// Appends bytes and a zero.
    pub fn text(&mut self, text: &[u8]) {
        text.iter().chain(&[0]).for_each(|&byte| self.bits(byte.into(), 8));
    }

    /// The message.
    pub fn finish(self) -> Vec<u8> {
        let byte = |bits: &[bool]| bits.iter().enumerate().map(|(at, &bit)| u8::from(bit) << at).sum();
        let mut content: Vec<u8> = self.bits.chunks(8).map(byte).collect();
        if self.bits.len().is_multiple_of(8) {
            content.push(0);
        }
        content
    }
}

/// Undoes, or does, the scrambling of a message from byte `from` on. `command`: the last command that the other side has
/// acknowledged.
pub fn scramble(mut key: u8, command: &[u8], content: &mut [u8], from: usize) {
    let mut text = command.iter().cycle();
    for (at, byte) in content.iter_mut().enumerate().skip(from) {
        let letter = match text.next() {
            None => 0,
            Some(&letter) if letter > 127 || letter == b'%' => b'.',
            Some(&letter) => letter,
        };
        key ^= letter << (at & 1);
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_and_texts_read_back() {
        let code = Code::new();
        let mut writer = Writer::new(&code);
        for width in 1..=32 {
            writer.bits(0xdead_beef, width);
        }
        writer.text(b"text");
        let mut content = writer.finish();
        scramble(7, b"command", &mut content, 4);
        scramble(7, b"command", &mut content, 4);
        let mut reader = Reader::new(&code, &content);
        for width in 1..=32 {
            assert_eq!(reader.bits(width), Ok(0xdead_beef & (u32::MAX >> (32 - width))), "{width}");
        }
        assert_eq!(reader.text(), Ok(b"text".to_vec()));
    }
}
