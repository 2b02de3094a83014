//! Entities and players of Quake III as differences from an earlier state.
//!
//! Source: ioquake3, `code/qcommon/msg.c`: the fields in the order in which they are sent, and their widths.

use super::bits::{Ends, Reader};

/// Name and bits of each field of an entity; 0 bits: a float, negative: signed.
pub const ENTITY: [(&str, i32); 51] = [
    ("pos.time", 32),
    ("pos.base[0]", 0),
    ("pos.base[1]", 0),
    ("pos.delta[0]", 0),
    ("pos.delta[1]", 0),
    ("pos.base[2]", 0),
    ("apos.base[1]", 0),
    ("pos.delta[2]", 0),
    ("apos.base[0]", 0),
    ("event", 10),
    ("angles2[1]", 0),
    ("e_type", 8),
    ("torso_anim", 8),
    ("event_parm", 8),
    ("legs_anim", 8),
    ("ground_entity_num", 10),
    ("pos.type", 8),
    ("e_flags", 19),
    ("other_entity_num", 10),
    ("weapon", 8),
    ("client_num", 8),
    ("angles[1]", 0),
    ("pos.duration", 32),
    ("apos.type", 8),
    ("origin[0]", 0),
    ("origin[1]", 0),
    ("origin[2]", 0),
    ("solid", 24),
    ("powerups", 16),
    ("modelindex", 8),
    ("other_entity_num2", 10),
    ("loop_sound", 8),
    ("generic1", 8),
    ("origin2[2]", 0),
    ("origin2[0]", 0),
    ("origin2[1]", 0),
    ("modelindex2", 8),
    ("angles[0]", 0),
    ("time", 32),
    ("apos.time", 32),
    ("apos.duration", 32),
    ("apos.base[2]", 0),
    ("apos.delta[0]", 0),
    ("apos.delta[1]", 0),
    ("apos.delta[2]", 0),
    ("time2", 32),
    ("angles[2]", 0),
    ("angles2[0]", 0),
    ("angles2[2]", 0),
    ("constant_light", 32),
    ("frame", 16),
];

/// The same of a player.
pub const PLAYER: [(&str, i32); 48] = [
    ("command_time", 32),
    ("origin[0]", 0),
    ("origin[1]", 0),
    ("bob_cycle", 8),
    ("velocity[0]", 0),
    ("velocity[1]", 0),
    ("viewangles[1]", 0),
    ("viewangles[0]", 0),
    ("weapon_time", -16),
    ("origin[2]", 0),
    ("velocity[2]", 0),
    ("legs_timer", 8),
    ("pm_time", -16),
    ("event_sequence", 16),
    ("torso_anim", 8),
    ("movement_dir", 4),
    ("events[0]", 8),
    ("legs_anim", 8),
    ("events[1]", 8),
    ("pm_flags", 16),
    ("ground_entity_num", 10),
    ("weaponstate", 4),
    ("e_flags", 16),
    ("external_event", 10),
    ("gravity", 16),
    ("speed", 16),
    ("delta_angles[1]", 16),
    ("external_event_parm", 8),
    ("viewheight", -8),
    ("damage_event", 8),
    ("damage_yaw", 8),
    ("damage_pitch", 8),
    ("damage_count", 8),
    ("generic1", 8),
    ("pm_type", 8),
    ("delta_angles[0]", 16),
    ("delta_angles[2]", 16),
    ("torso_timer", 12),
    ("event_parms[0]", 8),
    ("event_parms[1]", 8),
    ("client_num", 8),
    ("weapon", 5),
    ("viewangles[2]", 0),
    ("grapple_point[0]", 0),
    ("grapple_point[1]", 0),
    ("grapple_point[2]", 0),
    ("jumppad_ent", 10),
    ("loop_sound", 16),
];

/// The lists of numbers of a player, and their bits.
pub const LISTS: [(&str, u32); 4] = [("stats", 16), ("persistant", 16), ("ammo", 16), ("powerups", 32)];

/// Bits of the number of an entity.
pub const ENTITY_BITS: u32 = 10;
/// Number that ends a list of entities.
pub const NO_ENTITY: u32 = (1 << ENTITY_BITS) - 1;

/// Small whole floats have this many bits, from minus half their range on.
const WHOLE_BITS: u32 = 13;

/// State of an entity, in the order of [`ENTITY`]; floats by their bits.
pub type Entity = [i32; ENTITY.len()];

/// State of a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// In the order of [`PLAYER`]; floats by their bits.
    pub fields: [i32; PLAYER.len()],
    /// In the order of [`LISTS`].
    pub lists: [[i32; 16]; 4],
}

impl Default for Player {
    fn default() -> Player {
        Player { fields: [0; PLAYER.len()], lists: [[0; 16]; 4] }
    }
}

fn whole_or_full(reader: &mut Reader) -> Result<i32, Ends> {
    if reader.flag()? {
        return reader.long();
    }
    let whole = reader.bits(WHOLE_BITS)? as i32 - (1 << (WHOLE_BITS - 1));
    Ok((whole as f32).to_bits() as i32)
}

fn integer(reader: &mut Reader, bits: i32) -> Result<i32, Ends> {
    let value = reader.bits(bits.unsigned_abs())?;
    let unused = 32 - bits.unsigned_abs();
    Ok(if bits < 0 { (value << unused) as i32 >> unused } else { value as i32 })
}

/// Reads what has changed of an entity whose number was read; `None` if it is gone.
///
/// # Errors
/// [`Ends`] if the message does, or has more fields than there are.
pub fn read_entity(reader: &mut Reader, before: &Entity) -> Result<Option<Entity>, Ends> {
    if reader.flag()? {
        return Ok(None);
    }
    let mut now = *before;
    if !reader.flag()? {
        return Ok(Some(now));
    }
    let count = usize::from(reader.byte()?);
    if count > ENTITY.len() {
        return Err(Ends);
    }
    for ((_, bits), field) in ENTITY.iter().zip(&mut now).take(count) {
        if reader.flag()? {
            *field = match (reader.flag()?, *bits) {
                (false, _) => 0,
                (true, 0) => whole_or_full(reader)?,
                (true, bits) => integer(reader, bits)?,
            };
        }
    }
    Ok(Some(now))
}

/// Reads what has changed of a player.
///
/// # Errors
/// [`Ends`] if the message does, or has more fields than there are.
pub fn read_player(reader: &mut Reader, before: &Player) -> Result<Player, Ends> {
    let mut now = before.clone();
    let count = usize::from(reader.byte()?);
    if count > PLAYER.len() {
        return Err(Ends);
    }
    for ((_, bits), field) in PLAYER.iter().zip(&mut now.fields).take(count) {
        if reader.flag()? {
            *field = if *bits == 0 { whole_or_full(reader)? } else { integer(reader, *bits)? };
        }
    }
    if reader.flag()? {
        for ((_, bits), list) in LISTS.iter().zip(&mut now.lists) {
            if reader.flag()? {
                let changed = reader.bits(16)?;
                for (_, value) in list.iter_mut().enumerate().filter(|(at, _)| changed >> at & 1 == 1) {
                    *value = if *bits == 16 { reader.short()?.into() } else { reader.long()? };
                }
            }
        }
    }
    Ok(now)
}
