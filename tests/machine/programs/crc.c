/* Checksums: CRC-64 and CRC-32 by tables, CRC-16 by bits, Adler-32, Fletcher-64, Luhn. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t table64[256];
static uint32_t table32[256];

static void make_tables(void) {
    for (uint32_t n = 0; n < 256; n++) {
        uint64_t wide = n;
        uint32_t narrow = n;
        for (int k = 0; k < 8; k++) {
            wide = wide & 1 ? wide >> 1 ^ 0xC96C5795D7870F42ULL : wide >> 1;
            narrow = narrow & 1 ? narrow >> 1 ^ 0xEDB88320U : narrow >> 1;
        }
        table64[n] = wide;
        table32[n] = narrow;
    }
}

static uint64_t crc64(uint64_t crc, const void *data, size_t len) {
    crc = ~crc;
    for (const uint8_t *p = data; len--; p++) crc = table64[(crc ^ *p) & 255] ^ crc >> 8;
    return ~crc;
}

static uint32_t crc32(uint32_t crc, const void *data, size_t len) {
    crc = ~crc;
    for (const uint8_t *p = data; len--; p++) crc = table32[(crc ^ *p) & 255] ^ crc >> 8;
    return ~crc;
}

static uint16_t crc16(const void *data, size_t len) { /* CCITT, most significant bit first */
    uint16_t crc = 0xFFFF;
    for (const uint8_t *p = data; len--; p++) {
        crc ^= (uint16_t)(*p << 8);
        for (int k = 0; k < 8; k++) crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

static uint32_t adler32(const void *data, size_t len) {
    uint32_t a = 1, b = 0;
    for (const uint8_t *p = data; len--; p++) {
        a = (a + *p) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static uint64_t fletcher64(const uint32_t *words, size_t count) {
    uint64_t low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = (low + words[i]) % 0xFFFFFFFFULL;
        high = (high + low) % 0xFFFFFFFFULL;
    }
    return high << 32 | low;
}

static int luhn(const char *digits) {
    int sum = 0, twice = 0;
    for (size_t i = strlen(digits); i-- > 0; twice = !twice) {
        int d = digits[i] - '0';
        if (twice && (d *= 2) > 9) d -= 9;
        sum += d;
    }
    return sum % 10 == 0;
}

int main(void) {
    make_tables();
    const char *check = "123456789";
    printf("crc64 %016llx\n", (unsigned long long)crc64(0, check, 9));
    printf("crc32 %08x\n", crc32(0, check, 9));
    printf("crc16 %04x\n", crc16(check, 9));
    printf("adler %08x\n", adler32(check, 9));

    uint32_t words[64];
    uint64_t x = 88172645463325252ULL;
    for (int i = 0; i < 64; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        words[i] = (uint32_t)(x >> 16);
    }
    printf("fletcher %016llx\n", (unsigned long long)fletcher64(words, 64));
    uint64_t whole = crc64(0, words, sizeof words), parts = 0;
    for (int i = 0; i < 64; i += 16) parts = crc64(parts, words + i, 16 * sizeof *words);
    printf("in parts %016llx %s\n", (unsigned long long)parts, parts == whole ? "same" : "differs");
    words[17] ^= 0x00400000;
    printf("one bit  %016llx\n", (unsigned long long)(crc64(0, words, sizeof words) ^ whole));
    printf("luhn %d %d\n", luhn("4539148803436467"), luhn("8273123273520569"));
    return 0;
}
