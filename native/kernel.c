/* Loops over the characters of a text, over its words and over its syntax tree, for Python.

Every function is a pure function of its arguments, apart from what `list_nodes` calls; caches inside change no result.
Each has a plain twin in Python, which is the reference and runs where this file was not compiled (`native/__init__.py`
names them); tests compare both.

Arrays go as `bytes` of native integers and floats, and come as `bytes` or as contiguous arrays of numpy, which are read
in place: the stable ABI of Python 3.10 has no other buffers. Texts are UTF-8
that may encode lone surrogates (the error handler "surrogatepass"). Functions of one file hold the interpreter lock, for
milliseconds; those of an index release it.
*/

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Incremented with every change of a function or of its result; equal to `VERSION` in `native/__init__.py`. */
#define KERNEL_VERSION 5

/* ---- Memory: arrays that grow. ---- */

typedef struct {
    char *data;
    size_t n;       /* items */
    size_t n_most;  /* items that fit */
    size_t size;    /* bytes of an item */
} Array;

/* As `added`, without the interpreter lock: the memory is that of `malloc`, and no error is set. */
static void *added_raw(Array *array)
{
    if (array->n == array->n_most) {
        size_t n_most = array->n_most ? 2 * array->n_most : 256;
        char *data = realloc(array->data, n_most * array->size);
        if (data == NULL)
            return NULL;
        array->data = data;
        array->n_most = n_most;
    }
    return array->data + array->size * array->n++;
}

/* Room for one more item, which is not initialised; NULL and a MemoryError without memory. */
static void *added(Array *array)
{
    if (array->n == array->n_most) {
        size_t n_most = array->n_most ? 2 * array->n_most : 256;
        char *data = PyMem_Realloc(array->data, n_most * array->size);
        if (data == NULL)
            return PyErr_NoMemory();
        array->data = data;
        array->n_most = n_most;
    }
    return array->data + array->size * array->n++;
}

static int32_t *int32s(const Array *array)
{
    return (int32_t *)array->data;
}

/* ---- Hash table: from a hash and an equality to a number. ---- */

#define EMPTY (-1)

typedef struct {
    int32_t *slots;  /* number of an entry, or EMPTY */
    uint64_t *hashes;
    size_t n_slots;  /* a power of two */
    size_t n;
} Table;

static void free_table(Table *table)
{
    PyMem_Free(table->slots);
    PyMem_Free(table->hashes);
}

static int make_table(Table *table, size_t n_slots)
{
    table->slots = PyMem_Malloc(n_slots * sizeof *table->slots);
    table->hashes = PyMem_Malloc(n_slots * sizeof *table->hashes);
    table->n_slots = n_slots;
    table->n = 0;
    if (table->slots == NULL || table->hashes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(table->slots, 0xFF, n_slots * sizeof *table->slots);
    return 0;
}

/* Doubles a table that is half full. The caller frees it after an error as well. */
static int grow_table(Table *table)
{
    Table larger = {0};
    size_t at, to;
    if (2 * table->n < table->n_slots)
        return 0;
    if (make_table(&larger, 2 * table->n_slots) < 0) {
        free_table(&larger);
        return -1;
    }
    for (at = 0; at < table->n_slots; at++) {
        if (table->slots[at] == EMPTY)
            continue;
        for (to = table->hashes[at] & (larger.n_slots - 1); larger.slots[to] != EMPTY;)
            to = (to + 1) & (larger.n_slots - 1);
        larger.slots[to] = table->slots[at];
        larger.hashes[to] = table->hashes[at];
    }
    larger.n = table->n;
    free_table(table);
    *table = larger;
    return 0;
}

/* A run of bytes of a text. */
typedef struct {
    const char *bytes;
    size_t length;
    int32_t first_term;  /* of a word: where its terms begin */
    int32_t n_terms;
} Span;

static uint64_t hash_of(const char *bytes, size_t length)
{
    uint64_t hash = 0xCBF29CE484222325u;
    size_t at;
    for (at = 0; at < length; at++)
        hash = (hash ^ (unsigned char)bytes[at]) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

/* The number of a span among the different `spans`; -1 with an error. A new one is added with the last number. */
static int32_t number_of_span(Table *table, Array *spans, const char *bytes, size_t length)
{
    uint64_t hash = hash_of(bytes, length);
    Span *span;
    size_t at;
    for (at = hash & (table->n_slots - 1); table->slots[at] != EMPTY; at = (at + 1) & (table->n_slots - 1)) {
        if (table->hashes[at] != hash)
            continue;
        span = (Span *)spans->data + table->slots[at];
        if (span->length == length && memcmp(span->bytes, bytes, length) == 0)
            return table->slots[at];
    }
    span = added(spans);
    if (span == NULL)
        return -1;
    *span = (Span){bytes, length, 0, 0};
    table->slots[at] = (int32_t)(spans->n - 1);
    table->hashes[at] = hash;
    table->n++;
    if (grow_table(table) < 0)
        return -1;
    return (int32_t)(spans->n - 1);
}

/* ---- BLAKE2b (RFC 7693) without a key, for a digest of 8 bytes. ---- */

static const uint64_t BLAKE2B_IV[8] = {
    0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
    0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u,
};

static const uint8_t BLAKE2B_SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

#define BLAKE2B_BLOCK 128

static uint64_t rotated(uint64_t value, int bits)
{
    return value >> bits | value << (64 - bits);
}

static uint64_t little_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    int i;
    for (i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

#define BLAKE2B_MIX(a, b, c, d, x, y)      \
    do {                                   \
        a += b + (x);                      \
        d = rotated(d ^ a, 32);            \
        c += d;                            \
        b = rotated(b ^ c, 24);            \
        a += b + (y);                      \
        d = rotated(d ^ a, 16);            \
        c += d;                            \
        b = rotated(b ^ c, 63);            \
    } while (0)

static void blake2b_compress(uint64_t h[8], const uint8_t *block, uint64_t n_bytes, int is_last)
{
    uint64_t v[16], m[16];
    int i, round;
    for (i = 0; i < 16; i++)
        m[i] = little_endian(block + 8 * i);
    for (i = 0; i < 8; i++) {
        v[i] = h[i];
        v[i + 8] = BLAKE2B_IV[i];
    }
    v[12] ^= n_bytes;
    if (is_last)
        v[14] = ~v[14];
    for (round = 0; round < 12; round++) {
        const uint8_t *s = BLAKE2B_SIGMA[round % 10];
        BLAKE2B_MIX(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        BLAKE2B_MIX(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        BLAKE2B_MIX(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        BLAKE2B_MIX(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        BLAKE2B_MIX(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        BLAKE2B_MIX(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        BLAKE2B_MIX(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        BLAKE2B_MIX(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }
    for (i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[i + 8];
}

/* The digest of 8 bytes as a little-endian integer, as `hashlib.blake2b(data, digest_size=8)` has it. */
static uint64_t blake2b_8(const char *data, size_t length)
{
    uint64_t h[8], n_done = 0;
    uint8_t last[BLAKE2B_BLOCK] = {0};
    memcpy(h, BLAKE2B_IV, sizeof h);
    h[0] ^= 0x01010000u ^ 8;  /* depth and fan-out of one, no key, eight bytes */
    while (length - n_done > BLAKE2B_BLOCK) {
        n_done += BLAKE2B_BLOCK;
        blake2b_compress(h, (const uint8_t *)data + n_done - BLAKE2B_BLOCK, n_done, 0);
    }
    memcpy(last, data + n_done, length - n_done);
    blake2b_compress(h, last, length, 1);
    return h[0];
}

/* ---- Terms of windows: the twin is `fragments.plain_window_terms`. ---- */

#define MAX_WORD_BYTES 100  /* `terms.MAX_WORD_BYTES` */

static int is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
static int is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
static int is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
static int is_word(unsigned char c) { return c >= 128 || c == '_' || is_upper(c) || is_lower(c) || is_digit(c); }

/* The end of the sub-word that begins at `at`, or `at` if none does: `terms._SUB_WORD`. */
static size_t sub_word_end(const char *word, size_t at, size_t length)
{
    size_t end = at;
    if (is_digit(word[at])) {
        while (end < length && is_digit(word[end]))
            end++;
        return end;
    }
    while (end < length && is_upper(word[end]))
        end++;
    if (end > at + 1 && end < length && is_lower(word[end]))
        return end - 1;  /* the last capital begins the next one: HTTP|Server */
    if (end > at && (end == length || !is_lower(word[end])))
        return end;
    while (end < length && (is_lower(word[end]) || (unsigned char)word[end] >= 128))
        end++;
    return end;
}

/* All of one call of `window_terms`. */
typedef struct {
    Table word_table, term_table;
    Array words;        /* Span: the different words */
    Array terms_of;     /* int32: terms of the words, one word after the other */
    Array keys;         /* uint64: of each term */
    Array occurrences;  /* int32: number of each word of the text, in order */
    Array line_starts;  /* size_t: first byte of each line, and the byte after the last line and its break */
    Array line_words;   /* int32: index of the first word of each line, and of the end */
    Array postings;     /* Posting, window after window */
} WindowTerms;

typedef struct {
    int32_t term, window, count;
} Posting;

static void free_window_terms(WindowTerms *all)
{
    Array *arrays[] = {&all->words, &all->terms_of, &all->keys, &all->occurrences, &all->line_starts, &all->line_words,
                       &all->postings};
    size_t i;
    for (i = 0; i < sizeof arrays / sizeof *arrays; i++)
        PyMem_Free(arrays[i]->data);
    free_table(&all->word_table);
    free_table(&all->term_table);
}

/* Digests of terms, which repeat in most files: two thirds of the time of `window_terms` without them. By hash of the
term; a later term replaces an earlier one. */
#define N_KNOWN_TERMS 32768

static struct {
    uint64_t digest;
    uint8_t length;
    char bytes[31];
} known_terms[N_KNOWN_TERMS];

static uint64_t digest_of_term(const char *bytes, size_t length)
{
    size_t at = hash_of(bytes, length) % N_KNOWN_TERMS;
    if (length > sizeof known_terms[at].bytes)
        return blake2b_8(bytes, length);
    if (known_terms[at].length != length || memcmp(known_terms[at].bytes, bytes, length) != 0) {
        known_terms[at].digest = blake2b_8(bytes, length);
        known_terms[at].length = (uint8_t)length;
        memcpy(known_terms[at].bytes, bytes, length);
    }
    return known_terms[at].digest;
}

/* The number of the term with this text; -1 with an error. */
static int32_t number_of_term(WindowTerms *all, const char *bytes, size_t length)
{
    Table *table = &all->term_table;
    uint64_t key = digest_of_term(bytes, length), *new_key;
    size_t at;
    for (at = key & (table->n_slots - 1); table->slots[at] != EMPTY; at = (at + 1) & (table->n_slots - 1))
        if (table->hashes[at] == key)
            return table->slots[at];
    new_key = added(&all->keys);
    if (new_key == NULL)
        return -1;
    *new_key = key;
    table->slots[at] = (int32_t)(all->keys.n - 1);
    table->hashes[at] = key;
    table->n++;
    return grow_table(table) < 0 ? -1 : (int32_t)(all->keys.n - 1);
}

/* Adds the term to the word, unless the word has it. */
static int add_term(WindowTerms *all, Span *word, const char *bytes, size_t length)
{
    int32_t i, term = number_of_term(all, bytes, length), *new_term;
    if (term < 0)
        return -1;
    for (i = 0; i < word->n_terms; i++)
        if (int32s(&all->terms_of)[word->first_term + i] == term)
            return 0;
    new_term = added(&all->terms_of);
    if (new_term == NULL)
        return -1;
    *new_term = term;
    word->n_terms++;
    return 0;
}

/* Sets the terms of a word: `terms.terms_of_word`. */
static int split_word(WindowTerms *all, Span *word)
{
    char lower[MAX_WORD_BYTES];
    size_t at, end, i;
    word->first_term = (int32_t)all->terms_of.n;
    if (is_digit(word->bytes[0]) || word->length > MAX_WORD_BYTES)
        return 0;
    if (add_term(all, word, word->bytes, word->length) < 0)
        return -1;
    for (at = 0; at < word->length; at = end > at ? end : at + 1) {
        int is_whole;
        end = sub_word_end(word->bytes, at, word->length);
        if (end - at < 2)
            continue;
        is_whole = end - at == word->length;
        for (i = at; i < end; i++) {
            is_whole &= !is_upper(word->bytes[i]);
            lower[i - at] = is_upper(word->bytes[i]) ? word->bytes[i] + ('a' - 'A') : word->bytes[i];
        }
        if (!is_whole && add_term(all, word, lower, end - at) < 0)
            return -1;
    }
    return 0;
}

/* Finds the lines of a text: `fragments._line_starts`. */
static int find_lines(WindowTerms *all, const char *text, size_t length)
{
    size_t at = 0, *start;
    for (;;) {
        const char *line_break;
        if ((start = added(&all->line_starts)) == NULL)
            return -1;
        *start = at;
        if (at >= length)
            return 0;
        line_break = memchr(text + at, '\n', length - at);
        at = line_break == NULL ? length + 1 : (size_t)(line_break - text) + 1;
    }
}

/* Numbers the words of the lines from `first_line` on. */
static int read_words(WindowTerms *all, const char *text, size_t length, size_t first_line)
{
    size_t line, n_lines = all->line_starts.n - 1, *starts = (size_t *)all->line_starts.data;
    int32_t *number;
    for (line = 0; line <= n_lines; line++) {
        size_t at = starts[line], end = line < n_lines ? starts[line + 1] : at;
        if ((number = added(&all->line_words)) == NULL)
            return -1;
        *number = (int32_t)all->occurrences.n;
        end = end > length ? length : end;
        while (line >= first_line && at < end) {
            size_t begin, n_words = all->words.n;
            while (at < end && !is_word(text[at]))
                at++;
            for (begin = at; at < end && is_word(text[at]);)
                at++;
            if (at == begin)
                break;
            if ((number = added(&all->occurrences)) == NULL)
                return -1;
            *number = number_of_span(&all->word_table, &all->words, text + begin, at - begin);
            if (*number < 0)
                return -1;
            if (all->words.n > n_words && split_word(all, (Span *)all->words.data + n_words) < 0)
                return -1;
        }
    }
    return 0;
}

/* Counts the terms of each window; `lengths` and `n_distinct` are by window. */
static int count_terms(
    WindowTerms *all, const int32_t *starts, const int32_t *ends, size_t n_windows, int32_t *lengths, int32_t *n_distinct)
{
    /* By term: its last posting. */
    int32_t *last = PyMem_Malloc((all->keys.n + 1) * sizeof *last);
    const int32_t *line_words = int32s(&all->line_words), *occurrences = int32s(&all->occurrences);
    const Span *words = (Span *)all->words.data;
    size_t window;
    if (last == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(last, 0xFF, (all->keys.n + 1) * sizeof *last);
    for (window = 0; window < n_windows; window++) {
        int32_t at, i, first_posting = (int32_t)all->postings.n, n_terms = 0;
        for (at = line_words[starts[window]]; at < line_words[ends[window]]; at++) {
            const Span *word = words + occurrences[at];
            const int32_t *terms = int32s(&all->terms_of) + word->first_term;
            n_terms += word->n_terms;
            for (i = 0; i < word->n_terms; i++) {
                Posting *posting;
                if (last[terms[i]] >= first_posting) {
                    ((Posting *)all->postings.data)[last[terms[i]]].count++;
                    continue;
                }
                if ((posting = added(&all->postings)) == NULL) {
                    PyMem_Free(last);
                    return -1;
                }
                *posting = (Posting){terms[i], (int32_t)window, 1};
                last[terms[i]] = (int32_t)(all->postings.n - 1);
            }
        }
        lengths[window] = n_terms;
        n_distinct[window] = (int32_t)all->postings.n - first_posting;
    }
    PyMem_Free(last);
    return 0;
}

typedef struct {
    uint64_t key;
    int32_t term;
} KeyOfTerm;

static int by_key(const void *left, const void *right)
{
    uint64_t a = ((const KeyOfTerm *)left)->key, b = ((const KeyOfTerm *)right)->key;
    return (a > b) - (a < b);
}

/* The postings grouped by term, in the order of the keys: (keys, indptr, windows, counts) as bytes. */
static PyObject *grouped_postings(WindowTerms *all)
{
    size_t n_terms = all->keys.n, n = all->postings.n, i;
    const Posting *postings = (Posting *)all->postings.data;
    KeyOfTerm *order = PyMem_Malloc((n_terms + 1) * sizeof *order);
    int32_t *next = PyMem_Calloc(n_terms + 1, sizeof *next);  /* by term: where its next posting goes */
    PyObject *keys = PyBytes_FromStringAndSize(NULL, n_terms * sizeof(uint64_t));
    PyObject *indptr = PyBytes_FromStringAndSize(NULL, (n_terms + 1) * sizeof(int32_t));
    PyObject *windows = PyBytes_FromStringAndSize(NULL, n * sizeof(int32_t));
    PyObject *counts = PyBytes_FromStringAndSize(NULL, n * sizeof(uint16_t)), *result = NULL;
    if (order == NULL || next == NULL)
        PyErr_NoMemory();
    else if (keys != NULL && indptr != NULL && windows != NULL && counts != NULL) {
        uint64_t *key = (uint64_t *)PyBytes_AsString(keys);
        int32_t *first = (int32_t *)PyBytes_AsString(indptr), *window = (int32_t *)PyBytes_AsString(windows);
        uint16_t *count = (uint16_t *)PyBytes_AsString(counts);
        for (i = 0; i < n; i++)
            next[postings[i].term]++;
        for (i = 0; i < n_terms; i++)
            order[i] = (KeyOfTerm){((uint64_t *)all->keys.data)[i], (int32_t)i};
        qsort(order, n_terms, sizeof *order, by_key);
        for (first[0] = 0, i = 0; i < n_terms; i++) {
            key[i] = order[i].key;
            first[i + 1] = first[i] + next[order[i].term];
            next[order[i].term] = first[i];
        }
        for (i = 0; i < n; i++) {
            int32_t at = next[postings[i].term]++;
            window[at] = postings[i].window;
            count[at] = (uint16_t)(postings[i].count < UINT16_MAX ? postings[i].count : UINT16_MAX);
        }
        result = PyTuple_Pack(4, keys, indptr, windows, counts);
    }
    PyMem_Free(order);
    PyMem_Free(next);
    Py_XDECREF(keys);
    Py_XDECREF(indptr);
    Py_XDECREF(windows);
    Py_XDECREF(counts);
    return result;
}

static const char *const WINDOW_TERMS_DOC =
    "window_terms(text, starts, ends) -> (hashes, lengths, n_distinct, (keys, indptr, windows, counts))\n\n"
    "The hashes and terms of windows [starts[i], ends[i]) of lines; all arrays are bytes.\n"
    "Raises ValueError for windows that are not in the text.";

static PyObject *window_terms(PyObject *module, PyObject *args)
{
    const char *text, *starts_bytes, *ends_bytes;
    Py_ssize_t length, n_starts, n_ends, n_lines, n_windows, i;
    const int32_t *starts, *ends;
    WindowTerms all = {0};
    PyObject *hashes = NULL, *lengths = NULL, *n_distinct = NULL, *grouped = NULL, *result = NULL;
    if (!PyArg_ParseTuple(args, "y#y#y#", &text, &length, &starts_bytes, &n_starts, &ends_bytes, &n_ends))
        return NULL;
    if (length > INT32_MAX / 4) {
        PyErr_SetString(PyExc_ValueError, "the text is longer than 512 MB");
        return NULL;
    }
    starts = (const int32_t *)starts_bytes;
    ends = (const int32_t *)ends_bytes;
    n_windows = n_starts / (Py_ssize_t)sizeof *starts;
    all.words.size = sizeof(Span);
    all.terms_of.size = all.occurrences.size = all.line_words.size = sizeof(int32_t);
    all.keys.size = sizeof(uint64_t);
    all.line_starts.size = sizeof(size_t);
    all.postings.size = sizeof(Posting);
    if (make_table(&all.word_table, 512) < 0 || make_table(&all.term_table, 512) < 0 ||
        find_lines(&all, text, length) < 0)
        goto done;
    n_lines = (Py_ssize_t)all.line_starts.n - 1;
    for (i = 0; i < n_windows; i++) {
        if (n_starts != n_ends || starts[i] < 0 || starts[i] >= ends[i] || ends[i] > n_lines ||
            (i > 0 && starts[i] < starts[i - 1])) {
            PyErr_SetString(PyExc_ValueError, "windows must be within the lines of the text, in order");
            goto done;
        }
    }
    hashes = PyBytes_FromStringAndSize(NULL, n_windows * sizeof(uint64_t));
    lengths = PyBytes_FromStringAndSize(NULL, n_windows * sizeof(int32_t));
    n_distinct = PyBytes_FromStringAndSize(NULL, n_windows * sizeof(int32_t));
    if (hashes == NULL || lengths == NULL || n_distinct == NULL)
        goto done;
    for (i = 0; i < n_windows; i++) {
        const size_t *line_starts = (size_t *)all.line_starts.data;
        size_t begin = line_starts[starts[i]];
        /* Without the last line break. */
        ((uint64_t *)PyBytes_AsString(hashes))[i] = blake2b_8(text + begin, line_starts[ends[i]] - 1 - begin);
    }
    if (read_words(&all, text, length, n_windows ? starts[0] : n_lines) < 0 ||
        count_terms(&all, starts, ends, n_windows, (int32_t *)PyBytes_AsString(lengths),
                    (int32_t *)PyBytes_AsString(n_distinct)) < 0)
        goto done;
    grouped = grouped_postings(&all);
    if (grouped != NULL)
        result = PyTuple_Pack(4, hashes, lengths, n_distinct, grouped);
done:
    free_window_terms(&all);
    Py_XDECREF(hashes);
    Py_XDECREF(lengths);
    Py_XDECREF(n_distinct);
    Py_XDECREF(grouped);
    return result;
}

static const char *const TERM_KEYS_DOC = "term_keys(terms) -> the uint64 key of each term of a tuple of str";

/* The twin is `terms.plain_term_keys`. */
static PyObject *term_keys(PyObject *module, PyObject *terms)
{
    Py_ssize_t n, i;
    PyObject *keys;
    if (!PyTuple_Check(terms)) {
        PyErr_SetString(PyExc_TypeError, "a tuple of str is needed");
        return NULL;
    }
    n = PyTuple_Size(terms);
    keys = PyBytes_FromStringAndSize(NULL, n * sizeof(uint64_t));
    for (i = 0; keys != NULL && i < n; i++) {
        PyObject *text = PyUnicode_AsEncodedString(PyTuple_GetItem(terms, i), "utf-8", "surrogatepass");
        char *bytes;
        Py_ssize_t length;
        if (text == NULL || PyBytes_AsStringAndSize(text, &bytes, &length) < 0)
            Py_CLEAR(keys);
        else
            ((uint64_t *)PyBytes_AsString(keys))[i] = blake2b_8(bytes, length);
        Py_XDECREF(text);
    }
    return keys;
}

/* ---- Sums of word vectors: the twin is `static_vectors.plain_weighted_sums`. ---- */

static const char *const WEIGHTED_SUMS_DOC =
    "weighted_sums(components, scales, sizes, texts, weights, n_texts) -> float32 bytes (n_texts, n_components)\n\n"
    "The weighted sum of the vectors of each text, in double precision. Vector i has int8 components times a float32\n"
    "scale; the next sizes[i] of the int32 texts have it, with float32 weights. Raises ValueError for other lengths.";

static PyObject *weighted_sums(PyObject *module, PyObject *args)
{
    const char *components_bytes, *scales_bytes, *sizes_bytes, *texts_bytes, *weights_bytes;
    Py_ssize_t n_bytes, n_scales, n_sizes, n_entries, n_weights, n_texts, n_vectors, width, i, j;
    const float *scales, *weights;
    const int32_t *sizes, *texts;
    double *sums = NULL, *vector = NULL;
    float *found;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "y#y#y#y#y#n", &components_bytes, &n_bytes, &scales_bytes, &n_scales, &sizes_bytes,
                          &n_sizes, &texts_bytes, &n_entries, &weights_bytes, &n_weights, &n_texts))
        return NULL;
    scales = (const float *)scales_bytes;
    weights = (const float *)weights_bytes;
    sizes = (const int32_t *)sizes_bytes;
    texts = (const int32_t *)texts_bytes;
    n_vectors = n_scales / (Py_ssize_t)sizeof *scales;
    n_entries /= (Py_ssize_t)sizeof *texts;
    width = n_vectors ? n_bytes / n_vectors : 0;
    if (n_texts < 0 || n_sizes / (Py_ssize_t)sizeof *sizes != n_vectors || width * n_vectors != n_bytes ||
        n_weights / (Py_ssize_t)sizeof *weights != n_entries) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        return NULL;
    }
    sums = PyMem_Calloc(n_texts * width + 1, sizeof *sums);
    vector = PyMem_Malloc((width + 1) * sizeof *vector);
    if (sums == NULL || vector == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (i = 0; i < n_vectors; i++) {
        int32_t n_left = sizes[i];
        if (n_left < 0 || n_left > n_entries) {
            PyErr_SetString(PyExc_ValueError, "more texts of a vector than there are");
            goto done;
        }
        for (j = 0; j < width; j++)
            vector[j] = (float)(signed char)components_bytes[i * width + j] * scales[i];
        for (; n_left > 0; n_left--, n_entries--, texts++, weights++) {
            double weight = *weights, *sum;
            if (*texts < 0 || *texts >= n_texts) {
                PyErr_SetString(PyExc_ValueError, "a text that does not exist");
                goto done;
            }
            sum = sums + *texts * width;
            for (j = 0; j < width; j++)
                sum[j] += weight * vector[j];
        }
    }
    result = PyBytes_FromStringAndSize(NULL, n_texts * width * sizeof(float));
    if (result == NULL)
        goto done;
    found = (float *)PyBytes_AsString(result);
    for (i = 0; i < n_texts * width; i++)
        found[i] = (float)sums[i];
done:
    PyMem_Free(sums);
    PyMem_Free(vector);
    return result;
}

/* ---- Tokens of the workspace model: the twin is `tokens.plain_number_tokens`. ---- */

#define MAX_TOKEN_CHARACTERS 64

enum { UNKNOWN, WORD, SPACE, SIGN };

/* By character: its kind in regular expressions, as far as it was asked for. */
static unsigned char kinds[0x110000];

/* Asks Python for the kind of a character; UNKNOWN with an error. */
static int learn_kind(int32_t character)
{
    PyObject *text = PyUnicode_FromOrdinal(character);
    PyObject *is_word = text == NULL ? NULL : PyObject_CallMethod(text, "isalnum", NULL);
    PyObject *is_space = is_word == NULL ? NULL : PyObject_CallMethod(text, "isspace", NULL);
    if (is_space != NULL)
        kinds[character] = is_word == Py_True || character == '_' ? WORD : is_space == Py_True ? SPACE : SIGN;
    Py_XDECREF(text);
    Py_XDECREF(is_word);
    Py_XDECREF(is_space);
    return kinds[character];
}

/* A text and what is left to read of it. */
typedef struct {
    const unsigned char *at, *end;
} Source;

/* The bytes of the character at `at`; 0 at the end. The text is valid, except that it may be cut. */
static size_t character_size(const Source *source, const unsigned char *at)
{
    size_t size = at >= source->end ? 0 : *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
    return size > (size_t)(source->end - at) ? (size_t)(source->end - at) : size;
}

/* The kind of the character at `at`; UNKNOWN at the end, or with an error. */
static int kind_at(const Source *source, const unsigned char *at)
{
    size_t i, size = character_size(source, at);
    int32_t character;
    if (size == 0)
        return UNKNOWN;
    character = size == 1 ? *at & 0x7F : *at & (0x7F >> size);
    for (i = 1; i < size; i++)
        character = character << 6 | (at[i] & 0x3F);
    if (character >= 0x110000)
        return SIGN;
    return kinds[character] ? kinds[character] : learn_kind(character);
}

static const unsigned char *after_words(const Source *source, const unsigned char *at)
{
    int n;
    for (n = 0; n < MAX_TOKEN_CHARACTERS && kind_at(source, at) == WORD; n++)
        at += character_size(source, at);
    return at;
}

static const unsigned char *after_blanks(const Source *source, const unsigned char *at)
{
    while (at < source->end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* After a sign: a rule such as `-----`, three quotes, or one character. */
static const unsigned char *after_sign(const Source *source, const unsigned char *at)
{
    const unsigned char *end = at;
    while (end < source->end && *end && strchr("-=#*~.", *end) != NULL)
        end++;
    if (end - at >= 4)
        return end;
    if (source->end - at >= 3 && (*at == '"' || *at == '\'') && at[1] == *at && at[2] == *at)
        return at + 3;
    return at + character_size(source, at);
}

/* The end of the token at `source->at`: `tokens._TOKEN`. */
static const unsigned char *token_end(const Source *source)
{
    const unsigned char *at = source->at;
    int kind;
    if (*at == '\n')
        return after_blanks(source, at + 1);
    kind = kind_at(source, at + (*at == ' '));
    if (*at == ' ' && kind != WORD && kind != SIGN)
        return after_blanks(source, at);
    at += *at == ' ';
    if (kind == WORD)
        return after_words(source, at);
    if (kind == SIGN)
        return after_sign(source, at);
    return *at == '\t' ? after_blanks(source, at) : at + character_size(source, at);
}

static const char *const NUMBER_TOKENS_DOC =
    "number_tokens(text) -> (words, numbers)\n\n"
    "The different tokens of a text in order of first appearance, a tuple of str, and the number of each token, uint32\n"
    "bytes. Raises UnicodeDecodeError for what is no UTF-8.";

static PyObject *number_tokens(PyObject *module, PyObject *text_bytes)
{
    Source source;
    Table table = {0};
    Array spans = {0}, numbers = {0};
    PyObject *words = NULL, *packed = NULL, *result = NULL;
    char *text;
    Py_ssize_t length;
    size_t i;
    spans.size = sizeof(Span);
    numbers.size = sizeof(int32_t);
    if (PyBytes_AsStringAndSize(text_bytes, &text, &length) < 0)
        return NULL;
    if (length > INT32_MAX / 4) {
        PyErr_SetString(PyExc_ValueError, "the text is longer than 512 MB");
        return NULL;
    }
    if (make_table(&table, 512) < 0)
        goto done;
    source.at = (const unsigned char *)text;
    source.end = source.at + length;
    while (source.at < source.end) {
        const unsigned char *end = token_end(&source);
        int32_t *number = added(&numbers);
        if (number == NULL || PyErr_Occurred())
            goto done;
        *number = number_of_span(&table, &spans, (const char *)source.at, end - source.at);
        if (*number < 0)
            goto done;
        source.at = end;
    }
    words = PyTuple_New(spans.n);
    for (i = 0; words != NULL && i < spans.n; i++) {
        const Span *span = (Span *)spans.data + i;
        PyObject *word = PyUnicode_DecodeUTF8(span->bytes, span->length, "surrogatepass");
        if (word == NULL || PyTuple_SetItem(words, i, word) < 0)
            goto done;
    }
    packed = PyBytes_FromStringAndSize(numbers.data, numbers.n * sizeof(int32_t));
    if (words != NULL && packed != NULL)
        result = PyTuple_Pack(2, words, packed);
done:
    free_table(&table);
    PyMem_Free(spans.data);
    PyMem_Free(numbers.data);
    Py_XDECREF(words);
    Py_XDECREF(packed);
    return result;
}

/* ---- The order of an n-gram index: the twin is `ngram_index.plain_sorted_positions`. ---- */

#define POSITION_BITS 28
#define HASH_BITS (64 - POSITION_BITS)
#define DIGIT_BITS 8
#define N_DIGITS (1 << DIGIT_BITS)
#define FEW 48  /* keys that insertion sorts faster */

/* A hash key: by depth, nearest value first, so many bits of the hash of the values up to there. */
typedef struct {
    const int32_t *values;
    const int32_t *bits;  /* by depth - 1; 0 for a depth without bits */
    Py_ssize_t n_depths;
} KeyRule;

/* The bits of the key for the values before a position, down to `n_depths`. */
static uint64_t key_at(const KeyRule *rule, size_t position, Py_ssize_t n_depths)
{
    uint64_t mixed = 0, key = 0;
    Py_ssize_t depth;
    for (depth = 0; depth < n_depths; depth++) {
        mixed = (mixed ^ (uint64_t)(int64_t)rule->values[position - depth - 1]) * 0x9E3779B97F4A7C15u;
        mixed ^= mixed >> 29;
        if (rule->bits[depth])
            key = key << rule->bits[depth] | mixed >> (64 - rule->bits[depth]);
    }
    return key;
}

static void sort_few(uint64_t *keys, size_t n)
{
    size_t i, at;
    for (i = 1; i < n; i++) {
        uint64_t key = keys[i];
        for (at = i; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Radix sort of keys by their bits from POSITION_BITS to `n_bits`; the order of equal ones stays. */
static void sort_many(uint64_t *keys, uint64_t *scratch, size_t n, int n_bits)
{
    int shift;
    for (shift = POSITION_BITS; shift < n_bits; shift += DIGIT_BITS) {
        size_t next[N_DIGITS] = {0}, first = 0, i;
        for (i = 0; i < n; i++)
            next[keys[i] >> shift & (N_DIGITS - 1)]++;
        for (i = 0; i < N_DIGITS; i++) {
            size_t size = next[i];
            next[i] = first;
            first += size;
        }
        for (i = 0; i < n; i++)
            scratch[next[keys[i] >> shift & (N_DIGITS - 1)]++] = keys[i];
        memcpy(keys, scratch, n * sizeof *keys);
    }
}

/* Sorts the positions from `first` to `end` by key, then by position. `starts` has one more entry than the first bits
of a key have values: where each begins. Returns -1 without memory. Needs no interpreter lock. */
static int sort_positions(const KeyRule *rule, size_t first, size_t end, int64_t *starts, uint32_t *positions)
{
    size_t n = end - first, n_starts, n_largest = 0, i;
    uint64_t *keys = malloc((n + 1) * sizeof *keys), *scratch = NULL;
    Py_ssize_t n_first_depths = 0;
    int first_bits;
    while (rule->bits[n_first_depths] == 0)
        n_first_depths++;
    first_bits = rule->bits[n_first_depths++];
    n_starts = (size_t)1 << first_bits;
    memset(starts, 0, (n_starts + 1) * sizeof *starts);
    for (i = first; i < end; i++)
        starts[key_at(rule, i, n_first_depths) + 1]++;
    for (i = 0; i < n_starts; i++) {
        n_largest = (size_t)starts[i + 1] > n_largest ? (size_t)starts[i + 1] : n_largest;
        starts[i + 1] += starts[i];
    }
    scratch = malloc((n_largest + 1) * sizeof *scratch);
    if (keys == NULL || scratch == NULL) {
        free(keys);
        free(scratch);
        return -1;
    }
    for (i = first; i < end; i++) {
        uint64_t key = key_at(rule, i, rule->n_depths);
        keys[starts[key >> (HASH_BITS - first_bits)]++] = key << POSITION_BITS | i;
    }
    for (i = n_starts; i > 0; i--)
        starts[i] = starts[i - 1];
    starts[0] = 0;
    for (i = 0; i < n_starts; i++) {
        size_t n_keys = (size_t)(starts[i + 1] - starts[i]);
        if (n_keys <= FEW)
            sort_few(keys + starts[i], n_keys);
        else
            sort_many(keys + starts[i], scratch, n_keys, 64 - first_bits);
    }
    for (i = 0; i < n; i++)
        positions[i] = (uint32_t)(keys[i] & (((uint64_t)1 << POSITION_BITS) - 1));
    free(keys);
    free(scratch);
    return 0;
}

static const char *const SORTED_POSITIONS_DOC =
    "sorted_positions(values, first, bits) -> (positions, starts)\n\n"
    "The positions of the int32 values from `first` on, uint32, sorted by a hash key of the values before them. Of the\n"
    "hash of the nearest i + 1 values the key has bits[i] bits, int32, 36 in all. `starts`, int64: the first index of\n"
    "each value of the first bits, and the end. Raises ValueError for other bits and lengths.";

static PyObject *sorted_positions(PyObject *module, PyObject *args)
{
    const char *values, *bits;
    Py_ssize_t n_bytes, n_bits_bytes, first, n_values, i;
    int32_t n_bits = 0, first_bits = 0;
    KeyRule rule;
    PyObject *positions, *starts, *result = NULL;
    int status;
    if (!PyArg_ParseTuple(args, "y#ny#", &values, &n_bytes, &first, &bits, &n_bits_bytes))
        return NULL;
    rule = (KeyRule){(const int32_t *)values, (const int32_t *)bits, n_bits_bytes / (Py_ssize_t)sizeof(int32_t)};
    n_values = n_bytes / (Py_ssize_t)sizeof(int32_t);
    for (i = 0; i < rule.n_depths; i++) {
        if (rule.bits[i] < 0 || rule.bits[i] > HASH_BITS)
            n_bits = 2 * HASH_BITS;
        n_bits += rule.bits[i];
        first_bits = first_bits ? first_bits : rule.bits[i];
    }
    if (n_bits != HASH_BITS || first_bits > 20 || first < rule.n_depths || n_values < first ||
        n_values >= (Py_ssize_t)1 << POSITION_BITS) {
        PyErr_SetString(PyExc_ValueError, "bits or lengths that do not fit");
        return NULL;
    }
    positions = PyBytes_FromStringAndSize(NULL, (n_values - first) * sizeof(uint32_t));
    starts = PyBytes_FromStringAndSize(NULL, (((Py_ssize_t)1 << first_bits) + 1) * sizeof(int64_t));
    if (positions != NULL && starts != NULL) {
        int64_t *to_starts = (int64_t *)PyBytes_AsString(starts);
        uint32_t *to_positions = (uint32_t *)PyBytes_AsString(positions);
        Py_BEGIN_ALLOW_THREADS
        status = sort_positions(&rule, first, n_values, to_starts, to_positions);
        Py_END_ALLOW_THREADS
        if (status < 0)
            PyErr_NoMemory();
        else
            result = PyTuple_Pack(2, positions, starts);
    }
    Py_XDECREF(positions);
    Py_XDECREF(starts);
    return result;
}

/* ---- Posting lists of several files as one: the twin is `inverted_index.plain_merged_postings`. ---- */

/* The rank of each key among the different ones, sorted. Returns how many there are. Needs no interpreter lock. */
static size_t rank_keys(const uint64_t *keys, size_t n, KeyOfTerm *order, int32_t *ranks)
{
    size_t n_different = 0, i;
    for (i = 0; i < n; i++)
        order[i] = (KeyOfTerm){keys[i], (int32_t)i};
    qsort(order, n, sizeof *order, by_key);
    for (i = 0; i < n; i++) {
        n_different += i == 0 || order[i].key != order[i - 1].key;
        ranks[order[i].term] = (int32_t)(n_different - 1);
    }
    return n_different;
}

static const char *const MERGED_POSTINGS_DOC =
    "merged_postings(keys, sizes, ids, counts) -> (keys, indptr, ids, counts)\n\n"
    "Posting lists with the same uint64 key as one, in the order of the keys. List i has the next sizes[i] of the int32\n"
    "ids and uint16 counts; indptr is int64. The order of lists with one key stays. Raises ValueError for other lengths.";

static PyObject *merged_postings(PyObject *module, PyObject *args)
{
    const char *keys_bytes, *sizes_bytes, *ids_bytes, *counts_bytes;
    Py_ssize_t n_keys_bytes, n_sizes_bytes, n_ids_bytes, n_counts_bytes;
    const uint64_t *keys;
    const int32_t *sizes, *ids;
    const uint16_t *counts;
    size_t n_lists, n_different, i, n = 0;
    KeyOfTerm *order;
    int32_t *ranks;
    PyObject *bytes[4] = {NULL}, *result = NULL;
    if (!PyArg_ParseTuple(args, "y#y#y#y#", &keys_bytes, &n_keys_bytes, &sizes_bytes, &n_sizes_bytes, &ids_bytes,
                          &n_ids_bytes, &counts_bytes, &n_counts_bytes))
        return NULL;
    keys = (const uint64_t *)keys_bytes;
    sizes = (const int32_t *)sizes_bytes;
    ids = (const int32_t *)ids_bytes;
    counts = (const uint16_t *)counts_bytes;
    n_lists = n_keys_bytes / sizeof *keys;
    for (i = 0; i < n_lists && n_sizes_bytes == (Py_ssize_t)(n_lists * sizeof *sizes) && sizes[i] >= 0; i++)
        n += sizes[i];
    if (i < n_lists || n_lists > INT32_MAX || n_ids_bytes != (Py_ssize_t)(n * sizeof *ids) ||
        n_counts_bytes != (Py_ssize_t)(n * sizeof *counts)) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        return NULL;
    }
    order = PyMem_Malloc((n_lists + 1) * sizeof *order);
    ranks = PyMem_Malloc((n_lists + 1) * sizeof *ranks);
    if (order == NULL || ranks == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    n_different = rank_keys(keys, n_lists, order, ranks);
    Py_END_ALLOW_THREADS
    bytes[0] = PyBytes_FromStringAndSize(NULL, n_different * sizeof(uint64_t));
    bytes[1] = PyBytes_FromStringAndSize(NULL, (n_different + 1) * sizeof(int64_t));
    bytes[2] = PyBytes_FromStringAndSize(NULL, n * sizeof(int32_t));
    bytes[3] = PyBytes_FromStringAndSize(NULL, n * sizeof(uint16_t));
    if (bytes[0] != NULL && bytes[1] != NULL && bytes[2] != NULL && bytes[3] != NULL) {
        uint64_t *to_keys = (uint64_t *)PyBytes_AsString(bytes[0]);
        int64_t *indptr = (int64_t *)PyBytes_AsString(bytes[1]);
        int32_t *to_ids = (int32_t *)PyBytes_AsString(bytes[2]);
        uint16_t *to_counts = (uint16_t *)PyBytes_AsString(bytes[3]);
        Py_BEGIN_ALLOW_THREADS
        memset(indptr, 0, (n_different + 1) * sizeof *indptr);
        for (i = 0; i < n_lists; i++) {
            to_keys[ranks[i]] = keys[i];
            indptr[ranks[i] + 1] += sizes[i];
        }
        for (i = 0; i < n_different; i++)
            indptr[i + 1] += indptr[i];
        for (i = 0; i < n_lists; i++) {
            /* While lists are copied, `indptr` says where the next one goes. */
            memcpy(to_ids + indptr[ranks[i]], ids, sizes[i] * sizeof *ids);
            memcpy(to_counts + indptr[ranks[i]], counts, sizes[i] * sizeof *counts);
            indptr[ranks[i]] += sizes[i];
            ids += sizes[i];
            counts += sizes[i];
        }
        memmove(indptr + 1, indptr, n_different * sizeof *indptr);
        indptr[0] = 0;
        Py_END_ALLOW_THREADS
        result = PyTuple_Pack(4, bytes[0], bytes[1], bytes[2], bytes[3]);
    }
done:
    PyMem_Free(order);
    PyMem_Free(ranks);
    for (i = 0; i < 4; i++)
        Py_XDECREF(bytes[i]);
    return result;
}

/* ---- The nodes of a syntax tree: the twin is `walk.plain_list_nodes`. ---- */

#define NODES_BETWEEN_CHECKS 256

/* The names of the attributes that are read and set, made once. */
enum {
    START_BYTE, END_BYTE, KIND_ID, NAMED_CHILDREN, DESCENDANT_COUNT, CHILD_COUNT, HAS_ERROR, INDEX, DEPTH, SCOPE, N_NAMES
};

static PyObject *NAMES[N_NAMES];

static int make_names(void)
{
    static const char *const texts[N_NAMES] = {
        "start_byte", "end_byte", "kind_id", "named_children", "descendant_count", "child_count", "has_error", "index",
        "depth", "scope",
    };
    int i;
    for (i = 0; i < N_NAMES; i++)
        if (NAMES[i] == NULL && (NAMES[i] = PyUnicode_InternFromString(texts[i])) == NULL)
            return -1;
    return 0;
}

/* Nodes in one scope whose turn comes: the children of a listed node, or the nodes of one line. */
typedef struct {
    PyObject *nodes;    /* a list */
    PyObject *scope;    /* an int */
    Py_ssize_t at;      /* of listed nodes: the next one */
    Py_ssize_t number;  /* of listed nodes: their parent, else their depth */
} Group;

typedef struct {
    PyObject *walk, *readers, *check;
    const char *source;
    Py_ssize_t n_source;
    Array parents, starts, ends, opened;  /* int32 */
    Array around, waiting;                /* Group */
    Array line;                           /* PyObject *: the nodes of a line, level after level */
    Py_ssize_t known_from, line_break;    /* from `known_from` on, the first line break is at `line_break` */
} Listing;

static int number_of(PyObject *node, int name, Py_ssize_t *number)
{
    PyObject *value = PyObject_GetAttr(node, NAMES[name]);
    if (value == NULL)
        return -1;
    *number = PyLong_AsSsize_t(value);
    Py_DECREF(value);
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Whether a node has descendants that readers may read: more than its children, or errors. -1 for an exception. */
static int has_more_than(PyObject *node, Py_ssize_t n_descendants)
{
    Py_ssize_t n;
    PyObject *has_error;
    int result;
    if (number_of(node, DESCENDANT_COUNT, &n) < 0)
        return -1;
    if (n > n_descendants)
        return 1;
    has_error = PyObject_GetAttr(node, NAMES[HAS_ERROR]);
    if (has_error == NULL)
        return -1;
    result = PyObject_IsTrue(has_error);
    Py_DECREF(has_error);
    return result;
}

static PyObject *named_children(PyObject *node)
{
    PyObject *children = PyObject_GetAttr(node, NAMES[NAMED_CHILDREN]);
    if (children != NULL && !PyList_Check(children)) {
        PyErr_SetString(PyExc_TypeError, "children of a node must be a list");
        Py_CLEAR(children);
    }
    return children;
}

/* Takes the references to `nodes`, also on failure; `nodes` may be NULL with an exception. */
static int add_group(Array *groups, PyObject *nodes, PyObject *scope, Py_ssize_t number)
{
    Group *group = nodes != NULL ? added(groups) : NULL;
    if (group == NULL) {
        Py_XDECREF(nodes);
        return -1;
    }
    Py_INCREF(scope);
    *group = (Group){nodes, scope, 0, number};
    return 0;
}

/* Adds the parts that a reader gave, [(nodes, scope), …], so that the first is the next, or in their order. */
static int add_parts(Array *groups, PyObject *parts, Py_ssize_t number, int is_first_next)
{
    Py_ssize_t n = PyList_Size(parts), i;
    if (n < 0)
        return -1;
    for (i = 0; i < n; i++) {
        PyObject *part = PyList_GetItem(parts, is_first_next ? n - 1 - i : i), *nodes, *scope;
        if (part == NULL || !PyArg_ParseTuple(part, "O!O", &PyList_Type, &nodes, &scope))
            return -1;
        Py_INCREF(nodes);
        if (add_group(groups, nodes, scope, number) < 0)
            return -1;
    }
    return 0;
}

static int set_number(PyObject *object, int name, Py_ssize_t number)
{
    PyObject *value = PyLong_FromSsize_t(number);
    int status = value != NULL ? PyObject_SetAttr(object, NAMES[name], value) : -1;
    Py_XDECREF(value);
    return status;
}

/* The reader of a node, borrowed; NULL without one. */
static PyObject *reader_of(const Listing *listing, PyObject *node)
{
    PyObject *kind = PyObject_GetAttr(node, NAMES[KIND_ID]), *reader;
    if (kind == NULL)
        return NULL;
    reader = PyDict_GetItemWithError(listing->readers, kind);
    Py_DECREF(kind);
    return reader;
}

/* Calls a reader at a position. Returns its parts, or None. */
static PyObject *read_node(Listing *listing, PyObject *reader, PyObject *node, Py_ssize_t depth, PyObject *scope)
{
    if (set_number(listing->walk, INDEX, (Py_ssize_t)listing->starts.n - 1) < 0 ||
        set_number(listing->walk, DEPTH, depth) < 0 || PyObject_SetAttr(listing->walk, NAMES[SCOPE], scope) < 0)
        return NULL;
    return PyObject_CallFunctionObjArgs(reader, listing->walk, node, NULL);
}

static int check_limit(const Listing *listing)
{
    PyObject *result;
    if (listing->check == Py_None)
        return 0;
    result = PyObject_CallFunctionObjArgs(listing->check, NULL);
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

static int add_int32(Array *array, Py_ssize_t value)
{
    int32_t *place = added(array);
    if (place == NULL)
        return -1;
    *place = (int32_t)value;
    return 0;
}

/* Adds nodes to those of the line. */
static int add_to_line(Listing *listing, PyObject *nodes)
{
    Py_ssize_t n = PyList_Size(nodes), i;
    for (i = 0; i < n; i++) {
        PyObject **place = added(&listing->line), *node = PyList_GetItem(nodes, i);
        if (place == NULL)
            return -1;
        Py_INCREF(node);
        *place = node;
    }
    return 0;
}

/* Reads a node of the line that has a reader. Returns whether its children are waiting, -1 for an exception. */
static int read_in_line(Listing *listing, PyObject *reader, PyObject *node, Py_ssize_t depth, PyObject *scope)
{
    PyObject *parts = read_node(listing, reader, node, depth, scope), *within;
    int status;
    if (parts == NULL)
        return -1;
    if (parts != Py_None) {
        status = add_parts(&listing->waiting, parts, depth + 1, 0) < 0 ? -1 : 1;
        Py_DECREF(parts);
        return status;
    }
    Py_DECREF(parts);
    within = PyObject_GetAttr(listing->walk, NAMES[SCOPE]);
    if (within == NULL)
        return -1;
    status = within == scope ? 0 : PyObject_RichCompareBool(within, scope, Py_NE);
    if (status > 0 && add_group(&listing->waiting, named_children(node), within, depth + 1) < 0)
        status = -1;
    Py_DECREF(within);
    return status;
}

static int read_group_of_line(Listing *listing, const Group *group)
{
    Py_ssize_t depth = group->number;
    size_t n_above, at;
    if (add_to_line(listing, group->nodes) < 0)
        return -1;
    n_above = listing->line.n;
    for (at = 0; at < listing->line.n; at++) {
        PyObject *node = ((PyObject **)listing->line.data)[at], *reader, *children;
        Py_ssize_t n_children;
        int status = 0;
        if (at % NODES_BETWEEN_CHECKS == NODES_BETWEEN_CHECKS - 1 && check_limit(listing) < 0)
            return -1;
        if (at == n_above) {
            n_above = listing->line.n;
            depth++;
        }
        reader = reader_of(listing, node);
        if (reader != NULL)
            status = read_in_line(listing, reader, node, depth, group->scope);
        else if (PyErr_Occurred())
            return -1;
        if (status)
            goto next;
        /* No reader reads leaves, so children that are all leaves are not created, except errors. */
        if (number_of(node, CHILD_COUNT, &n_children) < 0)
            return -1;
        status = has_more_than(node, n_children + 1);
        if (status > 0) {
            children = named_children(node);
            status = children != NULL ? add_to_line(listing, children) : -1;
            Py_XDECREF(children);
        }
next:
        if (status < 0)
            return -1;
    }
    return 0;
}

static void clear_line(Listing *listing)
{
    size_t i;
    for (i = 0; i < listing->line.n; i++)
        Py_DECREF(((PyObject **)listing->line.data)[i]);
    listing->line.n = 0;
}

static void free_groups(Array *groups, size_t n_kept)
{
    while (groups->n > n_kept) {
        Group *group = (Group *)groups->data + --groups->n;
        Py_DECREF(group->nodes);
        Py_DECREF(group->scope);
    }
}

/* Reads a node that lies on one line, and its descendants, outer nodes before inner ones. */
static int read_line(Listing *listing, PyObject *top, PyObject *scope)
{
    PyObject *nodes = PyList_New(1);
    if (nodes == NULL)
        return -1;
    Py_INCREF(top);
    PyList_SetItem(nodes, 0, top);
    if (add_group(&listing->waiting, nodes, scope, 0) < 0)
        return -1;
    while (listing->waiting.n) {
        Group group = ((Group *)listing->waiting.data)[--listing->waiting.n];
        int status = read_group_of_line(listing, &group);
        clear_line(listing);
        Py_DECREF(group.nodes);
        Py_DECREF(group.scope);
        if (status < 0)
            return -1;
    }
    return 0;
}

/* Whether a line break lies between two places, before the last byte. */
static int spans_lines(Listing *listing, Py_ssize_t start, Py_ssize_t end)
{
    if (start < listing->known_from || start > listing->line_break) {
        const char *found = start < listing->n_source
            ? memchr(listing->source + start, '\n', listing->n_source - start) : NULL;
        listing->known_from = start;
        listing->line_break = found != NULL ? found - listing->source : PY_SSIZE_T_MAX;
    }
    return listing->line_break < end - 1;
}

/* Reads a node of several lines and adds its children to those whose turn comes. */
static int open_node(Listing *listing, PyObject *node, PyObject *scope)
{
    PyObject *reader = reader_of(listing, node), *parts, *within;
    Py_ssize_t index = (Py_ssize_t)listing->starts.n - 1;
    int status;
    if ((reader == NULL && PyErr_Occurred()) || add_int32(&listing->opened, index) < 0)
        return -1;
    if (reader == NULL)
        return add_group(&listing->around, named_children(node), scope, index);
    parts = read_node(listing, reader, node, 0, scope);
    if (parts == NULL)
        return -1;
    if (parts != Py_None) {
        status = add_parts(&listing->around, parts, index, 1);
    } else {
        within = PyObject_GetAttr(listing->walk, NAMES[SCOPE]);
        status = within != NULL ? add_group(&listing->around, named_children(node), within, index) : -1;
        Py_XDECREF(within);
    }
    Py_DECREF(parts);
    return status;
}

/* Lists a node and reads it, and what it has on one line. */
static int list_node(Listing *listing, PyObject *node, PyObject *scope, Py_ssize_t parent)
{
    Py_ssize_t start, end;
    int status;
    if (listing->starts.n % NODES_BETWEEN_CHECKS == 0 && check_limit(listing) < 0)
        return -1;
    if (number_of(node, START_BYTE, &start) < 0 || number_of(node, END_BYTE, &end) < 0 ||
        add_int32(&listing->parents, parent) < 0 || add_int32(&listing->starts, start) < 0 ||
        add_int32(&listing->ends, end) < 0)
        return -1;
    if (spans_lines(listing, start, end))
        return open_node(listing, node, scope);
    status = has_more_than(node, 1);
    return status > 0 ? read_line(listing, node, scope) : status;
}

static int list_all(Listing *listing)
{
    while (listing->around.n) {
        size_t top = listing->around.n - 1;
        Group *group = (Group *)listing->around.data + top;
        PyObject *node;
        int status;
        if (group->at == PyList_Size(group->nodes)) {
            free_groups(&listing->around, top);
            continue;
        }
        node = PyList_GetItem(group->nodes, group->at);
        if (node == NULL)
            return -1;
        /* Nodes are released as soon as they are read: a whole tree of them slows down the garbage collector. */
        Py_INCREF(node);
        Py_INCREF(Py_None);
        PyList_SetItem(group->nodes, group->at++, Py_None);
        status = list_node(listing, node, group->scope, group->number);
        Py_DECREF(node);
        if (status < 0)
            return -1;
    }
    return 0;
}

static PyObject *bytes_of(const Array *array)
{
    return PyBytes_FromStringAndSize(array->data, array->n * array->size);
}

static const char *const LIST_NODES_DOC =
    "list_nodes(walk, root, scope, readers, source, check) -> (parents, starts, ends, opened)\n\n"
    "Walks a syntax tree and calls the reader of each node that has one in `readers`, by kind id, as reader(walk, node)\n"
    "with the attributes `index`, `depth` and `scope` of the walk set. `check`, unless None, is called now and then and\n"
    "may raise. Gives the listed nodes as int32 arrays: parents, first bytes, ends, and the numbers of the open ones.";

static PyObject *list_nodes(PyObject *module, PyObject *args)
{
    PyObject *root, *scope, *nodes, *result = NULL;
    Listing listing = {0};
    Array *const int32_arrays[] = {&listing.parents, &listing.starts, &listing.ends, &listing.opened};
    int i;
    if (!PyArg_ParseTuple(args, "OOOO!y#O", &listing.walk, &root, &scope, &PyDict_Type, &listing.readers,
                          &listing.source, &listing.n_source, &listing.check) || make_names() < 0)
        return NULL;
    for (i = 0; i < 4; i++)
        int32_arrays[i]->size = sizeof(int32_t);
    listing.around.size = listing.waiting.size = sizeof(Group);
    listing.line.size = sizeof(PyObject *);
    listing.known_from = PY_SSIZE_T_MAX;
    nodes = PyList_New(1);
    if (nodes != NULL) {
        Py_INCREF(root);
        PyList_SetItem(nodes, 0, root);
    }
    if (add_group(&listing.around, nodes, scope, -1) == 0 && list_all(&listing) == 0) {
        PyObject *arrays[4];
        for (i = 0; i < 4; i++)
            arrays[i] = bytes_of(int32_arrays[i]);
        if (arrays[0] != NULL && arrays[1] != NULL && arrays[2] != NULL && arrays[3] != NULL)
            result = PyTuple_Pack(4, arrays[0], arrays[1], arrays[2], arrays[3]);
        for (i = 0; i < 4; i++)
            Py_XDECREF(arrays[i]);
    }
    clear_line(&listing);
    free_groups(&listing.around, 0);
    free_groups(&listing.waiting, 0);
    for (i = 0; i < 4; i++)
        PyMem_Free(int32_arrays[i]->data);
    PyMem_Free(listing.around.data);
    PyMem_Free(listing.waiting.data);
    PyMem_Free(listing.line.data);
    return result;
}

/* ---- JSON: the twin is `codegraph.json_bytes.plain_to_json`. ---- */

static int add_bytes(Array *text, const char *bytes, size_t n)
{
    if (text->n_most - text->n < n) {
        size_t n_most = 2 * text->n_most + n + 256;
        char *data = PyMem_Realloc(text->data, n_most);
        if (data == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        text->data = data;
        text->n_most = n_most;
    }
    memcpy(text->data + text->n, bytes, n);
    text->n += n;
    return 0;
}

/* The escape of a character in a JSON text; NULL for one that stands for itself. `room` has 7 bytes. */
static const char *escape_of(unsigned char character, char *room)
{
    switch (character) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\b': return "\\b";
    case '\f': return "\\f";
    default:
        if (character >= 0x20)
            return NULL;
        memcpy(room, "\\u00", 4);
        room[4] = "01"[character >> 4];
        room[5] = "0123456789abcdef"[character & 15];
        room[6] = 0;
        return room;
    }
}

static int add_quoted(Array *text, const char *bytes, size_t n)
{
    size_t at, first = 0;
    char room[7];
    if (add_bytes(text, "\"", 1) < 0)
        return -1;
    for (at = 0; at < n; at++) {
        const char *escape = escape_of((unsigned char)bytes[at], room);
        if (escape == NULL)
            continue;
        if (add_bytes(text, bytes + first, at - first) < 0 || add_bytes(text, escape, strlen(escape)) < 0)
            return -1;
        first = at + 1;
    }
    return add_bytes(text, bytes + first, n - first) < 0 ? -1 : add_bytes(text, "\"", 1);
}

static int add_str(Array *text, PyObject *value)
{
    Py_ssize_t n;
    const char *bytes = PyUnicode_AsUTF8AndSize(value, &n);
    PyObject *encoded;
    char *encoded_bytes;
    int status;
    if (bytes != NULL)
        return add_quoted(text, bytes, n);
    PyErr_Clear();  /* a lone surrogate */
    encoded = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
    if (encoded == NULL || PyBytes_AsStringAndSize(encoded, &encoded_bytes, &n) < 0) {
        Py_XDECREF(encoded);
        return -1;
    }
    status = add_quoted(text, encoded_bytes, n);
    Py_DECREF(encoded);
    return status;
}

static int add_int(Array *text, PyObject *value)
{
    char digits[24];
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "an integer of more than 64 bits");
        return -1;
    }
    if (number == -1 && PyErr_Occurred())
        return -1;
    return add_bytes(text, digits, PyOS_snprintf(digits, sizeof digits, "%lld", number));
}

static int add_json(Array *text, PyObject *value);

static int add_items(Array *text, PyObject *value, int is_list)
{
    Py_ssize_t n = is_list ? PyList_Size(value) : PyTuple_Size(value), i;
    if (add_bytes(text, "[", 1) < 0)
        return -1;
    for (i = 0; i < n; i++)
        if ((i && add_bytes(text, ",", 1) < 0) ||
            add_json(text, is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i)) < 0)
            return -1;
    return add_bytes(text, "]", 1);
}

static int add_dict(Array *text, PyObject *value)
{
    Py_ssize_t at = 0, n = 0;
    PyObject *key, *item;
    if (add_bytes(text, "{", 1) < 0)
        return -1;
    while (PyDict_Next(value, &at, &key, &item)) {
        if (!PyUnicode_Check(key)) {
            PyErr_SetString(PyExc_TypeError, "keys of a JSON object are texts");
            return -1;
        }
        if ((n++ && add_bytes(text, ",", 1) < 0) || add_str(text, key) < 0 || add_bytes(text, ":", 1) < 0 ||
            add_json(text, item) < 0)
            return -1;
    }
    return add_bytes(text, "}", 1);
}

static int add_json(Array *text, PyObject *value)
{
    int status;
    if (PyUnicode_Check(value))
        return add_str(text, value);
    if (value == Py_None)
        return add_bytes(text, "null", 4);
    if (value == Py_True)
        return add_bytes(text, "true", 4);
    if (value == Py_False)
        return add_bytes(text, "false", 5);
    if (PyLong_Check(value))
        return add_int(text, value);
    if (Py_EnterRecursiveCall(" in a JSON text"))
        return -1;
    if (PyList_Check(value)) {
        status = add_items(text, value, 1);
    } else if (PyTuple_Check(value)) {
        status = add_items(text, value, 0);
    } else if (PyDict_Check(value)) {
        status = add_dict(text, value);
    } else {
        PyErr_SetString(PyExc_TypeError, "a JSON text has texts, integers, lists and dicts with texts as keys");
        status = -1;
    }
    Py_LeaveRecursiveCall();
    return status;
}

static const char *const TO_JSON_DOC =
    "to_json(value) -> bytes\n\n"
    "The JSON of nested lists, tuples, dicts with texts as keys, texts, 64-bit integers, booleans and None, without\n"
    "blanks. Raises TypeError and ValueError for other values.";

static PyObject *to_json(PyObject *module, PyObject *value)
{
    Array text = {0};
    PyObject *result = NULL;
    text.size = 1;
    if (add_json(&text, value) == 0)
        result = PyBytes_FromStringAndSize(text.data, text.n);
    PyMem_Free(text.data);
    return result;
}

/* ---- The best BM25 scores of a segment by MaxScore: the twin is `max_score.plain_best_fragments`. ---- */

/* The ids of a range of windows are scored together; their sums stay in the first cache of a core. */
#define WINDOW 2048

/* The postings of one term of a query. */
typedef struct {
    Py_ssize_t at, end;  /* the next posting to read, and the end */
    double factor;       /* what the term adds to a score at most */
} Run;

/* A fragment that may be one of the best, with a sum that rounding makes differ from its score. */
typedef struct {
    double sum;
    int32_t id;
} Possible;

typedef struct {
    const int32_t *ids;
    const uint16_t *counts;
    Run *runs;            /* in the order of the query */
    Py_ssize_t n_runs;
    const int32_t *lengths;
    const unsigned char *live;
    int64_t n_ids;        /* lengths and live have these */
    int64_t hidden_first, hidden_end;
    double k1, b, average;
} Postings;

/* Sums differ from scores by their order alone; bounds are compared with this part of a score. */
static const double SLACK = 1 - 1e-9;

/* Runs are read whole until the others together are below this part of the needed score: looking a fragment up in a run
takes as long as reading ten postings. */
static const double LOOKED_UP = 0.2;

/* The first posting from `at` on with an id of at least `id`; `end` without one. By steps of growing length. */
static Py_ssize_t seek(const int32_t *ids, Py_ssize_t at, Py_ssize_t end, int64_t id)
{
    Py_ssize_t step = 1, middle;
    if (at >= end || ids[at] >= id)
        return at;
    while (step < end - at && ids[at + step] < id) {
        at += step;
        step *= 2;
    }
    end = step < end - at ? at + step : end;
    at++;
    while (at < end) {
        middle = at + (end - at) / 2;
        if (ids[middle] < id)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* Puts a sum into a heap of the largest ones, whose first is the least of them. */
static void keep_largest(double *heap, Py_ssize_t *n, Py_ssize_t n_most, double sum)
{
    Py_ssize_t at, below;
    if (*n < n_most) {
        for (at = (*n)++; at > 0 && heap[(at - 1) / 2] > sum; at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
        heap[at] = sum;
        return;
    }
    if (sum <= heap[0])
        return;
    for (at = 0; (below = 2 * at + 1) < n_most; at = below) {
        below += below + 1 < n_most && heap[below + 1] < heap[below];
        if (heap[below] >= sum)
            break;
        heap[at] = heap[below];
    }
    heap[at] = sum;
}

static int by_factor(const void *left, const void *right)
{
    double a = ((const Run *)left)->factor, b = ((const Run *)right)->factor;
    return (a < b) - (a > b);
}

/* The fragments that can have one of the `n_most` best scores, and one of `least` or more; by id. Returns what a sum
needs to be among them, or -1 without memory. The runs are sorted by factor, the largest first. A window reads the runs
without which a score cannot be large enough, and looks up the others for the fragments that are left. */
static double find_possible(const Postings *it, Py_ssize_t n_most, double least, Array *possible)
{
    Py_ssize_t n = it->n_runs, n_heap = 0, n_read = n, i;
    Run *runs = it->runs;
    double *rest = malloc((n + 1) * sizeof *rest), *heap = malloc((n_most + 1) * sizeof *heap);
    double *sums = calloc(WINDOW, sizeof *sums), needed = least * SLACK;
    double base = it->k1 * (1 - it->b), slope = it->k1 * it->b / it->average;
    int has_memory = rest != NULL && heap != NULL && sums != NULL;
    Possible *found;
    size_t n_left = 0, k;
    if (has_memory) {
        rest[n] = 0;
        for (i = n; i > 0; i--)
            rest[i - 1] = rest[i] + runs[i - 1].factor;
    }
    while (has_memory) {
        int64_t first = INT64_MAX, place;
        double enough;
        while (n_read > 0 && rest[n_read - 1] < LOOKED_UP * needed)
            n_read--;
        for (i = 0; i < n_read; i++)
            if (runs[i].at < runs[i].end && it->ids[runs[i].at] < first)
                first = it->ids[runs[i].at];
        if (first == INT64_MAX)
            break;
        first = first < 0 ? 0 : first;
        for (i = 0; i < n_read; i++) {
            Py_ssize_t at = runs[i].at, end = runs[i].end;
            double factor = runs[i].factor;
            for (; at < end && it->ids[at] < first + WINDOW; at++) {
                int64_t id = it->ids[at];
                /* A damaged file may have any ids. */
                if (id >= first && id < it->n_ids)
                    sums[id - first] += factor * it->counts[at] / (base + slope * it->lengths[id] + it->counts[at]);
            }
            runs[i].at = at;
        }
        enough = needed - rest[n_read];
        for (place = 0; place < WINDOW; place++) {
            double sum = sums[place];
            int64_t id = first + place;
            if (sum < enough || sum == 0 || !it->live[id] || (id >= it->hidden_first && id < it->hidden_end))
                continue;
            for (i = n_read; i < n && sum + rest[i] >= needed; i++) {
                Py_ssize_t at = runs[i].at = seek(it->ids, runs[i].at, runs[i].end, id);
                if (at < runs[i].end && it->ids[at] == id)
                    sum += runs[i].factor * it->counts[at] / (base + slope * it->lengths[id] + it->counts[at]);
            }
            if (i < n || sum < needed)
                continue;
            keep_largest(heap, &n_heap, n_most, sum);
            if (n_heap == n_most && heap[0] * SLACK > needed) {
                needed = heap[0] * SLACK;
                enough = needed - rest[n_read];
            }
            found = added_raw(possible);
            if (found == NULL) {
                has_memory = 0;
                break;
            }
            *found = (Possible){sum, (int32_t)id};
        }
        memset(sums, 0, WINDOW * sizeof *sums);
    }
    free(rest);
    free(heap);
    free(sums);
    if (!has_memory)
        return -1;
    found = (Possible *)possible->data;
    for (k = 0; k < possible->n; k++)
        if (found[k].sum >= needed)
            found[n_left++] = found[k];
    possible->n = n_left;
    return needed;
}

/* As `find_possible`, for runs in any order. */
static double find_best(const Postings *it, Py_ssize_t n_most, double least, Array *possible)
{
    Postings sorted = *it;
    double needed = -1;
    sorted.runs = malloc((it->n_runs + 1) * sizeof *sorted.runs);
    if (sorted.runs != NULL) {
        memcpy(sorted.runs, it->runs, it->n_runs * sizeof *sorted.runs);
        qsort(sorted.runs, it->n_runs, sizeof *sorted.runs, by_factor);
        needed = find_possible(&sorted, n_most, least, possible);
    }
    free(sorted.runs);
    return needed;
}

/* The scores of fragments, which are sorted by id: what the runs add, in the order of the query. */
static void exact_scores(const Postings *it, const Possible *found, size_t n, double *scores)
{
    Py_ssize_t i;
    size_t k;
    for (k = 0; k < n; k++)
        scores[k] = 0;
    for (i = 0; i < it->n_runs; i++) {
        Py_ssize_t at = it->runs[i].at;
        for (k = 0; k < n; k++) {
            at = seek(it->ids, at, it->runs[i].end, found[k].id);
            if (at < it->runs[i].end && it->ids[at] == found[k].id) {
                /* Stored between two operations, so that no compiler joins them, which would round once less. */
                volatile double norm = it->b * it->lengths[found[k].id] / it->average, part;
                norm = 1 - it->b + norm;
                norm = it->k1 * norm;
                norm = norm + it->counts[at];
                part = it->counts[at] / norm;
                part = part * it->runs[i].factor;
                scores[k] += part;
            }
        }
    }
}

static const char *const BEST_SCORES_DOC =
    "best_scores(ids, counts, firsts, ends, factors, lengths, live, hidden, (k1, b, average), n, least) -> (ids, scores)\n\n"
    "The fragments with the n best BM25 scores among those of `least` or more, and all with the score of the last; by\n"
    "id, int32, with their scores, float64. Term i has the postings firsts[i] to ends[i], int64, of the int32 ids, which\n"
    "ascend, and uint16 counts, and a float64 factor. By id: lengths, int32, and whether a fragment is live, one byte.\n"
    "Those of the range `hidden` are left out. Others with a lower score may be in the result. Raises ValueError for\n"
    "other lengths.";

static PyObject *best_scores(PyObject *module, PyObject *args)
{
    const char *ids, *counts, *firsts, *ends, *factors, *lengths, *live;
    Py_ssize_t n_ids, n_counts, n_firsts, n_ends, n_factors, n_lengths, n_live, hidden_first, hidden_end, n, i;
    double least;
    Postings it;
    Array possible = {.size = sizeof(Possible)};
    PyObject *found_ids = NULL, *scores = NULL, *result = NULL;
    double needed;
    if (!PyArg_ParseTuple(args, "y#y#y#y#y#y#y#(nn)(ddd)nd", &ids, &n_ids, &counts, &n_counts, &firsts, &n_firsts, &ends,
                          &n_ends, &factors, &n_factors, &lengths, &n_lengths, &live, &n_live, &hidden_first,
                          &hidden_end, &it.k1, &it.b, &it.average, &n, &least))
        return NULL;
    it.ids = (const int32_t *)ids;
    it.counts = (const uint16_t *)counts;
    it.lengths = (const int32_t *)lengths;
    it.live = (const unsigned char *)live;
    it.n_ids = n_live;
    it.hidden_first = hidden_first;
    it.hidden_end = hidden_end;
    it.n_runs = n_firsts / (Py_ssize_t)sizeof(int64_t);
    n_ids /= (Py_ssize_t)sizeof(int32_t);
    it.runs = PyMem_Malloc((it.n_runs + 1) * sizeof *it.runs);
    if (it.runs == NULL)
        return PyErr_NoMemory();
    if (n < 1 || n_ends != n_firsts || n_factors != n_firsts || n_counts != n_ids * (Py_ssize_t)sizeof(uint16_t) ||
        n_lengths != n_live * (Py_ssize_t)sizeof(int32_t)) {
        PyErr_SetString(PyExc_ValueError, "arrays of different lengths");
        goto done;
    }
    for (i = 0; i < it.n_runs; i++) {
        int64_t first = ((const int64_t *)firsts)[i], end = ((const int64_t *)ends)[i];
        if (first < 0 || end < first || end > n_ids) {
            PyErr_SetString(PyExc_ValueError, "postings that do not exist");
            goto done;
        }
        it.runs[i] = (Run){(Py_ssize_t)first, (Py_ssize_t)end, ((const double *)factors)[i]};
    }
    Py_BEGIN_ALLOW_THREADS
    needed = find_best(&it, n, least, &possible);
    Py_END_ALLOW_THREADS
    if (needed < 0) {
        PyErr_NoMemory();
        goto done;
    }
    found_ids = PyBytes_FromStringAndSize(NULL, possible.n * sizeof(int32_t));
    scores = PyBytes_FromStringAndSize(NULL, possible.n * sizeof(double));
    if (found_ids != NULL && scores != NULL) {
        size_t k;
        exact_scores(&it, (Possible *)possible.data, possible.n, (double *)PyBytes_AsString(scores));
        for (k = 0; k < possible.n; k++)
            ((int32_t *)PyBytes_AsString(found_ids))[k] = ((Possible *)possible.data)[k].id;
        result = PyTuple_Pack(2, found_ids, scores);
    }
done:
    free(possible.data);
    PyMem_Free(it.runs);
    Py_XDECREF(found_ids);
    Py_XDECREF(scores);
    return result;
}

static const char *const COUNT_COMMON_DOC =
    "count_common(ids, firsts, ends, others) -> int64 bytes\n\n"
    "How many of the int32 ids firsts[i] to ends[i], int64, are among `others`. Both ascend. Raises ValueError for other\n"
    "lengths.";

/* The twin is `inverted_index.n_common`. */
static PyObject *count_common(PyObject *module, PyObject *args)
{
    const char *ids_bytes, *firsts, *ends, *others_bytes;
    Py_ssize_t n_ids, n_firsts, n_ends, n_others, n_runs, i;
    const int32_t *ids, *others;
    PyObject *counts;
    if (!PyArg_ParseTuple(args, "y#y#y#y#", &ids_bytes, &n_ids, &firsts, &n_firsts, &ends, &n_ends, &others_bytes,
                          &n_others))
        return NULL;
    ids = (const int32_t *)ids_bytes;
    others = (const int32_t *)others_bytes;
    n_ids /= (Py_ssize_t)sizeof *ids;
    n_others /= (Py_ssize_t)sizeof *others;
    n_runs = n_firsts / (Py_ssize_t)sizeof(int64_t);
    for (i = 0; i < n_runs && n_ends == n_firsts; i++) {
        int64_t first = ((const int64_t *)firsts)[i], end = ((const int64_t *)ends)[i];
        if (first < 0 || end < first || end > n_ids)
            break;
    }
    if (i < n_runs || n_ends != n_firsts) {
        PyErr_SetString(PyExc_ValueError, "postings that do not exist");
        return NULL;
    }
    counts = PyBytes_FromStringAndSize(NULL, n_runs * sizeof(int64_t));
    for (i = 0; counts != NULL && i < n_runs; i++) {
        Py_ssize_t at = (Py_ssize_t)((const int64_t *)firsts)[i], end = (Py_ssize_t)((const int64_t *)ends)[i], other = 0;
        int64_t n_common = 0;
        while (at < end && other < n_others) {
            if (ids[at] == others[other]) {
                n_common++;
                at++;
                other++;
            } else if (ids[at] < others[other]) {
                at = seek(ids, at, end, others[other]);
            } else {
                other = seek(others, other, n_others, ids[at]);
            }
        }
        ((int64_t *)PyBytes_AsString(counts))[i] = n_common;
    }
    return counts;
}

static PyMethodDef METHODS[] = {
    {"window_terms", window_terms, METH_VARARGS, NULL},
    {"weighted_sums", weighted_sums, METH_VARARGS, NULL},
    {"number_tokens", number_tokens, METH_O, NULL},
    {"sorted_positions", sorted_positions, METH_VARARGS, NULL},
    {"merged_postings", merged_postings, METH_VARARGS, NULL},
    {"term_keys", term_keys, METH_O, NULL},
    {"list_nodes", list_nodes, METH_VARARGS, NULL},
    {"to_json", to_json, METH_O, NULL},
    {"best_scores", best_scores, METH_VARARGS, NULL},
    {"count_common", count_common, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "kernel", "Loops over the characters and words of a text.", -1, METHODS, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_kernel(void)
{
    PyObject *module;
    METHODS[0].ml_doc = WINDOW_TERMS_DOC;
    METHODS[1].ml_doc = WEIGHTED_SUMS_DOC;
    METHODS[2].ml_doc = NUMBER_TOKENS_DOC;
    METHODS[3].ml_doc = SORTED_POSITIONS_DOC;
    METHODS[4].ml_doc = MERGED_POSTINGS_DOC;
    METHODS[5].ml_doc = TERM_KEYS_DOC;
    METHODS[6].ml_doc = LIST_NODES_DOC;
    METHODS[7].ml_doc = TO_JSON_DOC;
    METHODS[8].ml_doc = BEST_SCORES_DOC;
    METHODS[9].ml_doc = COUNT_COMMON_DOC;
    module = PyModule_Create(&MODULE);
    if (module != NULL && PyModule_AddIntConstant(module, "VERSION", KERNEL_VERSION) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
