//! PNG files with a palette. Flat drawings repeat themselves along a row and from row to row, and only that is compressed.

/// Encodes an image of one byte a pixel, each an index of the palette; `pixels` holds whole rows of `width`.
pub fn encode(width: usize, pixels: &[u8], palette: &[[u8; 3]]) -> Vec<u8> {
    let height = pixels.len().checked_div(width).unwrap_or_default();
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes();
    let mut header = Vec::new();
    header.extend_from_slice(&size(width));
    header.extend_from_slice(&size(height));
    // Eight bits a pixel, palette, deflate, no filter, not interlaced.
    header.extend_from_slice(&[8, 3, 0, 0, 0]);
    let mut raw = Vec::with_capacity(pixels.len() + height);
    for row in pixels.chunks_exact(width.max(1)) {
        raw.push(0);
        raw.extend_from_slice(row);
    }
    let mut out = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    chunk(&mut out, *b"IHDR", &header);
    chunk(&mut out, *b"PLTE", palette.as_flattened());
    chunk(&mut out, *b"IDAT", &zlib(&raw, width + 1));
    chunk(&mut out, *b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    out.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let from = out.len();
    out.extend_from_slice(&kind);
    out.extend_from_slice(data);
    let sum = crc(out.get(from..).unwrap_or_default());
    out.extend_from_slice(&sum.to_be_bytes());
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}

fn adler(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    (b << 16) | a
}

/// One block with the fixed codes; a run repeats the byte before it or the row above it.
fn zlib(raw: &[u8], row: usize) -> Vec<u8> {
    let mut bits = Bits { out: vec![0x78, 0x01], held: 0, count: 0 };
    bits.put(0b011, 3);
    let mut at = 0;
    while let Some(byte) = raw.get(at) {
        let (length, distance) =
            [row, 1].map(|distance| (run(raw, at, distance), distance)).into_iter().max().unwrap_or((0, 1));
        if length >= 3 {
            bits.length(length);
            bits.distance(distance);
            at += length;
        } else {
            bits.symbol(u32::from(*byte));
            at += 1;
        }
    }
    bits.symbol(256);
    let mut out = bits.done();
    out.extend_from_slice(&adler(raw).to_be_bytes());
    out
}

/// How long what stands `distance` before goes on, as far as one code can say.
fn run(raw: &[u8], at: usize, distance: usize) -> usize {
    const MOST: usize = 258;
    let Some(from) = at.checked_sub(distance).filter(|_| distance <= 32_768) else { return 0 };
    let (Some(back), Some(here)) = (raw.get(from..), raw.get(at..)) else { return 0 };
    back.iter().zip(here).take(MOST).take_while(|(one, two)| one == two).count()
}

struct Bits {
    out: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    /// Bits of a number, the lowest first.
    fn put(&mut self, value: u32, count: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.out.extend(self.held.to_le_bytes().first());
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Bits of a code, the highest first.
    fn code(&mut self, code: u32, count: u32) {
        self.put(code.reverse_bits() >> (32 - count), count);
    }

    fn symbol(&mut self, symbol: u32) {
        match symbol {
            0..=143 => self.code(0x30 + symbol, 8),
            144..=255 => self.code(0x190 + symbol - 144, 9),
            256..=279 => self.code(symbol - 256, 7),
            _ => self.code(0xC0 + symbol - 280, 8),
        }
    }

    fn length(&mut self, length: usize) {
        if length == 258 {
            return self.symbol(285);
        }
        let (group, extra, rest) = split(length - 3, 2);
        self.symbol(257 + group);
        self.put(rest, extra);
    }

    fn distance(&mut self, distance: usize) {
        let (group, extra, rest) = split(distance - 1, 1);
        self.code(group, 5);
        self.put(rest, extra);
    }

    fn done(mut self) -> Vec<u8> {
        self.put(0, 7);
        self.out
    }
}

/// Deflate's groups of numbers: each has `2^step` groups for one number of extra bits.
fn split(value: usize, step: u32) -> (u32, u32, u32) {
    let value = u32::try_from(value).unwrap_or(u32::MAX);
    let high = value.checked_ilog2().unwrap_or(0);
    let extra = high.saturating_sub(step);
    let group = if extra == 0 { value } else { (extra << step) + (value >> extra) };
    (group, extra, value & ((1 << extra) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An inflater of its own, for fixed codes.
    fn inflate(zlib: &[u8]) -> Vec<u8> {
        let mut at = 16;
        let mut bit = || {
            at += 1;
            u32::from(zlib[(at - 1) / 8] >> ((at - 1) % 8) & 1)
        };
        let mut out: Vec<u8> = Vec::new();
        assert_eq!((bit(), bit(), bit()), (1, 1, 0), "one last block with fixed codes");
        const LENGTHS: [usize; 29] = [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
            227, 258,
        ];
        loop {
            let mut code = (0..7).fold(0, |code, _| code * 2 + bit());
            let symbol = if code < 24 {
                code + 256
            } else {
                code = code * 2 + bit();
                match code {
                    0x30..=0xBF => code - 0x30,
                    0xC0..=0xC7 => code - 0xC0 + 280,
                    _ => code * 2 + bit() - 0x190 + 144,
                }
            };
            match symbol {
                0..=255 => out.push(symbol as u8),
                256 => return out,
                _ => {
                    let group = symbol as usize - 257;
                    let extra = if group < 8 || group == 28 { 0 } else { group / 4 - 1 };
                    let length = LENGTHS[group] + (0..extra).fold(0, |rest, n| rest + ((bit() as usize) << n));
                    let group = (0..5).fold(0, |code, _| code * 2 + bit() as usize);
                    let extra = (group / 2).saturating_sub(1);
                    let base = if group < 4 { group + 1 } else { ((2 + group % 2) << extra) + 1 };
                    let distance = base + (0..extra).fold(0, |rest, n| rest + ((bit() as usize) << n));
                    for _ in 0..length {
                        out.push(out[out.len() - distance]);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        let mut noise = 7_u32;
        for length in [0, 1, 2, 3, 10, 257, 258, 259, 261, 700, 5_000] {
            for (row, kinds) in [(1, 1), (7, 2), (64, 3), (2_209, 256)] {
                let raw: Vec<u8> = (0..length)
                    .map(|_| {
                        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        ((noise >> 16) % kinds) as u8
                    })
                    .collect();
                assert_eq!(inflate(&zlib(&raw, row)), raw, "{length} bytes, rows of {row}, {kinds} values");
            }
        }
    }

    #[test]
    fn checksums_are_those_of_the_standards() {
        assert_eq!(crc(b"IEND"), 0xAE42_6082);
        assert_eq!(adler(b"Wikipedia"), 0x11E6_0398);
    }
}
