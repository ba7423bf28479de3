/* Texts of wide characters. */
#include "text.h"

#include <errno.h>
#include <stdlib.h>

/* A character as UTF-8, or as a byte where the locale knows bytes only; 0: it is none. Bytes that
 * are no text are characters from 0xdf80 on there. */
INLINE u32 encode(u32 character, char *bytes) {
    u32 more = 0, first = 0;
    if (character >= 0x80) {
        if (MB_CUR_MAX == 1) {
            if (character - 0xdf80 >= 0x80) {
                return 0;
            }
        } else if (character < 0x800) {
            more = 1;
            first = 0xc0;
        } else if (character < 0x10000 && character - 0xd800 >= 0x800) {
            more = 2;
            first = 0xe0;
        } else if (character - 0x10000 < 0x100000) {
            more = 3;
            first = 0xf0;
        } else {
            return 0;
        }
    }
    for (u32 i = more; i != 0; i--) {
        bytes[i] = (character & 0x3f) | 0x80;
        character >>= 6;
    }
    bytes[0] = character | first;
    return more + 1;
}

/* How many bytes the characters come to, up to the precision; they are written if there is a
 * sink. Negative: one of them cannot be written. */
SHARED static i32 write_wide(Sink *sink, const wchar_t *characters, u32 precision) {
    char bytes[4];
    u32 length = 0;
    while (length < precision && *characters) {
        u32 more = encode(*characters++, bytes);
        if (more == 0) {
            errno = EILSEQ;
            return -1;
        }
        if (more > precision - length) {
            break;
        }
        if (sink) {
            curta_emit(sink, bytes, more, 1);
        }
        length += more;
    }
    return length;
}

/* Zeros that are asked for stand in the way of all padding here, as in musl. */
i32 curta_wide(Sink *sink, Field *field, const wchar_t *characters) {
    u32 precision = field->precision;
    i32 length = write_wide(0, characters, precision);
    if (length < 0) {
        field->is_unwritable = 1;
        return -1;
    }
    u32 spaces = field->width > length ? field->width - length : 0;
    curta_pad(sink, field->flags, spaces);
    write_wide(sink, characters, precision);
    curta_pad(sink, field->flags ^ FLAG('-'), spaces);
    return length + spaces;
}
