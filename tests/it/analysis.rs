//! See the room of the same name.
