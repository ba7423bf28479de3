/* Huffman's codes: a heap of trees, canonical codes, a bit stream, and back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    unsigned weight;
    int symbol; /* -1 for inner nodes */
    struct node *left, *right;
};

struct heap {
    struct node *items[256];
    int count;
};

static int before(const struct node *a, const struct node *b) {
    return a->weight != b->weight ? a->weight < b->weight : a->symbol < b->symbol;
}

static void push(struct heap *h, struct node *n) {
    int at = h->count++;
    while (at > 0 && before(n, h->items[(at - 1) / 2])) {
        h->items[at] = h->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->items[at] = n;
}

static struct node *pop(struct heap *h) {
    struct node *top = h->items[0], *last = h->items[--h->count];
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && before(h->items[child + 1], h->items[child])) child++;
        if (!before(h->items[child], last)) break;
        h->items[at] = h->items[child];
        at = child;
    }
    h->items[at] = last;
    return top;
}

static struct node *new_node(unsigned weight, int symbol, struct node *left, struct node *right) {
    struct node *n = malloc(sizeof *n);
    *n = (struct node){weight, symbol, left, right};
    return n;
}

static void measure(const struct node *n, int depth, uint8_t lengths[256]) {
    if (n->left == NULL) {
        lengths[n->symbol] = (uint8_t)(depth ? depth : 1);
        return;
    }
    measure(n->left, depth + 1, lengths);
    measure(n->right, depth + 1, lengths);
}

static void drop(struct node *n) {
    if (n == NULL) return;
    drop(n->left);
    drop(n->right);
    free(n);
}

static void code_lengths(const char *text, uint8_t lengths[256]) {
    unsigned counts[256] = {0};
    struct heap h = {.count = 0};
    for (const char *p = text; *p; p++) counts[(uint8_t)*p]++;
    for (int c = 0; c < 256; c++)
        if (counts[c]) push(&h, new_node(counts[c], c, NULL, NULL));
    while (h.count > 1) {
        struct node *a = pop(&h), *b = pop(&h);
        push(&h, new_node(a->weight + b->weight, -1, a, b));
    }
    memset(lengths, 0, 256);
    measure(h.items[0], 0, lengths);
    drop(h.items[0]);
}

static void canonical(const uint8_t lengths[256], uint32_t codes[256]) {
    uint32_t code = 0;
    for (int length = 1; length < 32; length++, code <<= 1)
        for (int c = 0; c < 256; c++)
            if (lengths[c] == length) codes[c] = code++;
}

static size_t encode(const char *text, const uint8_t *lengths, const uint32_t *codes, uint8_t *out) {
    uint64_t held = 0;
    int bits = 0;
    size_t count = 0;
    for (; *text; text++) {
        uint8_t c = (uint8_t)*text;
        held = held << lengths[c] | codes[c];
        bits += lengths[c];
        for (; bits >= 8; bits -= 8) out[count++] = (uint8_t)(held >> (bits - 8));
    }
    if (bits > 0) out[count++] = (uint8_t)(held << (8 - bits));
    return count;
}

static void decode(const uint8_t *in, size_t symbols, const uint8_t *lengths, const uint32_t *codes) {
    uint32_t code = 0;
    int length = 0;
    for (size_t bit = 0; symbols > 0; bit++) {
        code = code << 1 | (in[bit / 8] >> (7 - bit % 8) & 1);
        length++;
        for (int c = 0; c < 256; c++)
            if (lengths[c] == length && codes[c] == code) {
                putchar(c);
                code = 0, length = 0, symbols--;
                break;
            }
    }
    putchar('\n');
}

int main(void) {
    const char *text = "she sells sea shells by the sea shore";
    uint8_t lengths[256], packed[256];
    uint32_t codes[256];
    code_lengths(text, lengths);
    canonical(lengths, codes);
    for (int c = 0; c < 256; c++)
        if (lengths[c]) {
            printf("'%c' ", c);
            for (int bit = lengths[c] - 1; bit >= 0; bit--) putchar('0' + (codes[c] >> bit & 1));
            putchar('\n');
        }
    size_t count = encode(text, lengths, codes, packed);
    printf("%zu -> %zu bytes:", strlen(text), count);
    for (size_t i = 0; i < count; i++) printf(" %02x", packed[i]);
    printf("\n");
    decode(packed, strlen(text), lengths, codes);
    code_lengths("aaaa", lengths);
    printf("%d\n", lengths['a']);
    return 0;
}
