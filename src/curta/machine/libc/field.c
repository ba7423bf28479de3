/* Characters into a sink, fields between spaces. */
#include "text.h"

SHARED void curta_empty(Sink *sink) {
    u32 count = sink->at - sink->start;
    if (fwrite(sink->start, 1, count, sink->file) != count) {
        sink->failed = 1;
    }
    sink->at = sink->start;
}

SHARED void curta_emit(Sink *sink, const char *from, u32 count, u32 step) {
    while (count != 0) {
        char *to = sink->at;
        u32 room = sink->end - to;
        if (room == 0) {
            if (!sink->file) {
                return;
            }
            curta_empty(sink);
            continue;
        }
        if (room > count) {
            room = count;
        }
        count -= room;
        char *end = to + room;
        sink->at = end;
        if (step != 0 && room >= 16) {
            __builtin_memcpy(to, from, room);
            from += room;
            continue;
        }
        do {
            *to++ = *from;
            from += step;
        } while (to != end);
    }
}

SHARED void curta_pad(Sink *sink, u32 flags, u32 count) {
    if ((flags & (FLAG('-') | FLAG('0'))) == 0) {
        curta_emit(sink, " ", count, 0);
    }
}

SHARED i32 curta_lay(Sink *sink, Field *field, u32 most) {
    u32 length = field->prefix_length + field->zeros + field->body_length;
    if (field->is_float) {
        length += field->point + field->more_length + field->more_zeros + field->tail_length;
    }
    u32 width = (u32)field->width, spaces = 0;
    if (length > most) {
        return -1;
    }
    if ((i32)width > (i32)length) {
        if (width > most) {
            return -1;
        }
        spaces = width - length;
        length = width;
    }
    u32 flags = field->flags, zeros = field->zeros;
    if (flags & FLAG('0')) {
        zeros += spaces;
        spaces = 0;
    }
    if (spaces != 0) {
        curta_pad(sink, flags, spaces);
    }
    if (field->prefix_length != 0) {
        curta_emit(sink, field->prefix, field->prefix_length, 1);
    }
    if (zeros != 0) {
        curta_emit(sink, "0", zeros, 0);
    }
    curta_emit(sink, field->body, field->body_length, 1);
    if (field->is_float) {
        curta_emit(sink, ".", field->point, 0);
        curta_emit(sink, field->more, field->more_length, 1);
        curta_emit(sink, "0", field->more_zeros, 0);
        curta_emit(sink, field->tail, field->tail_length, 1);
    }
    if (spaces != 0) {
        curta_pad(sink, flags ^ FLAG('-'), spaces);
    }
    return length;
}

SHARED void curta_sign(Field *field, u32 negative) {
    u32 sign = field->flags & FLAG('+') ? '+' : field->flags & FLAG(' ') ? ' ' : 0;
    if (negative) {
        sign = '-';
    }
    field->prefix[0] = sign;
    field->prefix_length = sign != 0;
}
