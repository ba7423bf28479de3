/* CHIP-8: an interpreter of its instructions, and a program that draws and counts. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint8_t memory[1024], v[16], screen[32][8], delay;
    uint16_t i, pc, stack[16];
    unsigned sp, steps;
    uint32_t random;
} chip;

static int draw(chip *c, unsigned x, unsigned y, unsigned rows) {
    int hit = 0;
    for (unsigned row = 0; row < rows && y + row < 32; row++)
        for (unsigned bit = 0; bit < 8 && x + bit < 64; bit++) {
            if (!(c->memory[c->i + row] << bit & 0x80)) continue;
            uint8_t *byte = &c->screen[y + row][(x + bit) / 8], mask = (uint8_t)(0x80 >> (x + bit) % 8);
            hit |= (*byte & mask) != 0;
            *byte ^= mask;
        }
    return hit;
}

static void arithmetic(chip *c, unsigned x, unsigned y, unsigned what) {
    uint8_t *v = c->v, flag = v[15];
    unsigned sum;
    switch (what) {
    case 0: v[x] = v[y]; return;
    case 1: v[x] |= v[y]; return;
    case 2: v[x] &= v[y]; return;
    case 3: v[x] ^= v[y]; return;
    case 4: sum = (unsigned)v[x] + v[y]; v[x] = (uint8_t)sum; flag = sum > 255; break;
    case 5: flag = v[x] >= v[y]; v[x] -= v[y]; break;
    case 6: flag = v[x] & 1; v[x] >>= 1; break;
    case 7: flag = v[y] >= v[x]; v[x] = (uint8_t)(v[y] - v[x]); break;
    case 14: flag = v[x] >> 7; v[x] = (uint8_t)(v[x] << 1); break;
    }
    v[15] = flag;
}

static int step(chip *c) {
    unsigned op = (unsigned)c->memory[c->pc] << 8 | c->memory[c->pc + 1];
    unsigned x = op >> 8 & 15, y = op >> 4 & 15, n = op & 15, nn = op & 255, nnn = op & 0xFFF;
    uint8_t *v = c->v;
    c->pc += 2;
    c->steps++;
    switch (op >> 12) {
    case 0x0:
        if (op == 0x00E0) memset(c->screen, 0, sizeof c->screen);
        else if (op == 0x00EE) c->pc = c->stack[--c->sp];
        else return 0;
        break;
    case 0x1:
        if (nnn == c->pc - 2u) return 0; /* a jump to itself: the end */
        c->pc = (uint16_t)nnn;
        break;
    case 0x2: c->stack[c->sp++] = c->pc; c->pc = (uint16_t)nnn; break;
    case 0x3: if (v[x] == nn) c->pc += 2; break;
    case 0x4: if (v[x] != nn) c->pc += 2; break;
    case 0x5: if (v[x] == v[y]) c->pc += 2; break;
    case 0x6: v[x] = (uint8_t)nn; break;
    case 0x7: v[x] = (uint8_t)(v[x] + nn); break;
    case 0x8: arithmetic(c, x, y, n); break;
    case 0x9: if (v[x] != v[y]) c->pc += 2; break;
    case 0xA: c->i = (uint16_t)nnn; break;
    case 0xB: c->pc = (uint16_t)(nnn + v[0]); break;
    case 0xC: c->random = c->random * 1664525 + 1013904223; v[x] = (uint8_t)(c->random >> 24 & nn); break;
    case 0xD: v[15] = (uint8_t)draw(c, v[x] % 64, v[y] % 32, n); break;
    case 0xF:
        if (nn == 0x07) v[x] = c->delay;
        if (nn == 0x15) c->delay = v[x];
        if (nn == 0x1E) c->i = (uint16_t)(c->i + v[x]);
        if (nn == 0x29) c->i = (uint16_t)(v[x] * 5);
        if (nn == 0x33)
            c->memory[c->i] = v[x] / 100, c->memory[c->i + 1] = v[x] / 10 % 10, c->memory[c->i + 2] = v[x] % 10;
        if (nn == 0x55) memcpy(c->memory + c->i, v, x + 1);
        if (nn == 0x65) memcpy(v, c->memory + c->i, x + 1);
        break;
    default: return 0;
    }
    if (c->delay && c->steps % 8 == 0) c->delay--;
    return 1;
}

static const uint8_t font[80] = {
    0xF0, 0x90, 0x90, 0x90, 0xF0, 0x20, 0x60, 0x20, 0x20, 0x70, 0xF0, 0x10, 0xF0, 0x80, 0xF0, 0xF0,
    0x10, 0xF0, 0x10, 0xF0, 0x90, 0x90, 0xF0, 0x10, 0x10, 0xF0, 0x80, 0xF0, 0x10, 0xF0, 0xF0, 0x80,
    0xF0, 0x90, 0xF0, 0xF0, 0x10, 0x20, 0x40, 0x40, 0xF0, 0x90, 0xF0, 0x90, 0xF0, 0xF0, 0x90, 0xF0,
    0x10, 0xF0, 0xF0, 0x90, 0xF0, 0x90, 0x90, 0xE0, 0x90, 0xE0, 0x90, 0xE0, 0xF0, 0x80, 0x80, 0x80,
    0xF0, 0xE0, 0x90, 0x90, 0x90, 0xE0, 0xF0, 0x80, 0xF0, 0x80, 0xF0, 0xF0, 0x80, 0xF0, 0x80, 0x80,
};

/* The sum of 1..12 as decimal digits, then random bits that cross them, then a count of hits. */
static const uint16_t cartridge[] = {
    0x00E0, 0x6000, 0x610C, 0x8014, 0x71FF, 0x3100, 0x1206, /* v0 = 12 + 11 + ... */
    0xA300, 0xF033, 0xF265, 0x6A02, 0x6B03,                 /* its digits in v0, v1, v2 */
    0xF029, 0xDAB5, 0x7A06, 0xF129, 0xDAB5, 0x7A06, 0xF229, 0xDAB5,
    0x6D00, 0x6E14,                                         /* 20 random dots */
    0xCA1F, 0xCB0F, 0x6006, 0xF029, 0x2240, 0x7EFF, 0x3E00, 0x122C,
    0x123C, 0x0000, 0xDAB1, 0x4F01, 0x7D01, 0x00EE,
};

int main(void) {
    static chip c;
    memcpy(c.memory, font, sizeof font);
    for (size_t i = 0; i < sizeof cartridge / sizeof *cartridge; i++) {
        c.memory[0x200 + 2 * i] = (uint8_t)(cartridge[i] >> 8);
        c.memory[0x201 + 2 * i] = (uint8_t)cartridge[i];
    }
    c.pc = 0x200, c.random = 2024;
    while (c.steps < 2000 && step(&c)) {
    }
    for (int y = 0; y < 16; y++) {
        for (int x = 0; x < 40; x++) putchar(c.screen[y][x / 8] << x % 8 & 0x80 ? '#' : '.');
        putchar('\n');
    }
    printf("%u steps, %u hits, at %03x\n", c.steps, c.v[13], c.pc);
    return 0;
}
