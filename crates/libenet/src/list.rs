//! Lists whose links lie in their members.

use std::ffi::c_void;

use crate::exported;
use crate::layout::Link;

/// Makes a list an empty one.
pub unsafe fn clear(list: *mut Link) {
    // SAFETY: the caller's `list` can be written to.
    unsafe { list.write(Link { next: list, previous: list }) };
}

exported! {
    fn enet_list_clear(list: *mut Link) -> (), else (), { clear(list) }

    fn enet_list_insert(position: *mut Link, data: *mut c_void) -> *mut Link, else std::ptr::null_mut(), {
        let link = data.cast::<Link>();
        link.write(Link { next: position, previous: (*position).previous });
        (*(*link).previous).next = link;
        (*position).previous = link;
        link
    }

    fn enet_list_remove(position: *mut Link) -> *mut c_void, else std::ptr::null_mut(), {
        (*(*position).previous).next = (*position).next;
        (*(*position).next).previous = (*position).previous;
        position.cast()
    }

    /// Moves the members from `first` to `last` before `position`.
    fn enet_list_move(position: *mut Link, first: *mut c_void, last: *mut c_void) -> *mut Link, else std::ptr::null_mut(), {
        let (first, last) = (first.cast::<Link>(), last.cast::<Link>());
        (*(*first).previous).next = (*last).next;
        (*(*last).next).previous = (*first).previous;
        (*first).previous = (*position).previous;
        (*last).next = position;
        (*(*first).previous).next = first;
        (*position).previous = last;
        first
    }

    fn enet_list_size(list: *mut Link) -> usize, else 0, {
        let mut count = 0;
        let mut next = (*list).next;
        while next != list {
            count += 1;
            next = (*next).next;
        }
        count
    }
}
