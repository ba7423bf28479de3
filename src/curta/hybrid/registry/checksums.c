/* Checksums of texts: CRC-32 (as zip has it) and Adler-32. */

/* The CRC-32 of a text. */
unsigned crc32(const char *text) {
    unsigned sum = 0xffffffff;
    for (; *text; text++) {
        sum ^= (unsigned char)*text;
        for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? sum >> 1 ^ 0xedb88320 : sum >> 1;
    }
    return ~sum;
}

/* The Adler-32 of a text. */
unsigned adler32(const char *text) {
    unsigned low = 1, high = 0;
    for (; *text; text++) {
        low = (low + (unsigned char)*text) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}
