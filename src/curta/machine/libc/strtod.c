/* strtof, strtod, strtold. */
#include "reader.h"

typedef union Value {
    u32 words[4];
    float single;
    double ordinary;
    long double quadruple;
} Value;

SHARED static void convert(const char *text, char **end, enum format format, Value *value) {
    Reader reader = {(const u8 *)text, 0, EVERYTHING, 0, END, 1};
    u32 length = curta_read_float(&reader, format, value->words) ? reader.count : 0;
    if (end) {
        *end = (char *)text + length;
    }
}

WEAK float strtof(const char *restrict text, char **restrict end) {
    Value value;
    convert(text, end, SINGLE, &value);
    return value.single;
}

WEAK double strtod(const char *restrict text, char **restrict end) {
    Value value;
    convert(text, end, DOUBLE, &value);
    return value.ordinary;
}

WEAK long double strtold(const char *restrict text, char **restrict end) {
    Value value;
    convert(text, end, QUADRUPLE, &value);
    return value.quadruple;
}
