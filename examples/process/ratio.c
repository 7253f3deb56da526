/* A speculative decoding verifier to start from, in C: it speaks the lines of docs/process.md, whose
 * keys come in a fixed order without spaces, so that no JSON library is needed.
 *
 *     gcc -O2 -o ratio examples/process/ratio.c && draftproof run process:./ratio
 *
 * With --broken it draws from the whole target row after a rejection, which must be found. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns where the value of a key begins, NULL where the line has no such key. */
static const char *value_of(const char *line, const char *key) {
    const char *found = strstr(line, key);
    return found ? found + strlen(key) : NULL;
}

/* Returns the whole number under a key. */
static long whole(const char *line, const char *key) { return strtol(value_of(line, key), NULL, 10); }

/* Returns all numbers of the array under a key in one piece, whatever their nesting. */
static double *numbers(const char *line, const char *key) {
    size_t count = 0, room = 64;
    double *found = malloc(room * sizeof *found);
    int depth = 0;
    for (const char *at = value_of(line, key); depth > 0 || *at == '['; ) {
        if (*at == '[' || *at == ']') {
            depth += *at++ == '[' ? 1 : -1;
            if (depth == 0) break;
        } else if (*at == ',') {
            at++;
        } else {
            char *end;
            if (count == room) found = realloc(found, (room *= 2) * sizeof *found);
            found[count++] = strtod(at, &end);
            at = end;
        }
    }
    return found;
}

static double **rows;     /* all rows of probabilities that were sent, by their number */
static long known, space;

/* Adds the rows of a request to those that are known. */
static void remember(const char *line, long vocab) {
    double *sent = numbers(line, "\"rows\":");
    long first = whole(line, "\"first_row\":"), count = 0;
    const char *end = strstr(line, ",\"draft_token_ids\":");
    for (const char *at = value_of(line, "\"rows\":") + 1; at < end; at++) count += *at == '[';
    while (known > first) free(rows[--known]);
    for (long row = 0; row < count; row++) {
        if (known == space) rows = realloc(rows, (space = 2 * space + 64) * sizeof *rows);
        rows[known] = malloc(vocab * sizeof **rows);
        memcpy(rows[known++], sent + row * vocab, vocab * sizeof **rows);
    }
    free(sent);
}

/* Returns a token drawn by p, or by max(p - q, 0) where there is a q, with a coin in [0, 1). */
static long draw(const double *p, const double *q, long vocab, double coin) {
    double total = 0, sum = 0;
    for (long token = 0; token < vocab; token++) {
        double weight = q ? p[token] - q[token] : p[token];
        total += weight > 0 ? weight : 0;
    }
    for (long token = 0; token < vocab; token++) {
        double weight = q ? p[token] - q[token] : p[token];
        if ((sum += weight > 0 ? weight : 0) > coin * total) return token;
    }
    return -1;
}

/* Answers one request: accept with p / q, else draw from the residual. */
static void verify(const char *line, int broken) {
    long batch = whole(line, "\"batch\":"), gamma = whole(line, "\"gamma\":");
    long vocab = whole(line, "\"vocab_size\":");
    remember(line, vocab);
    double *drafted = numbers(line, "\"draft_token_ids\":"), *coins = numbers(line, "\"coins\":");
    double *draft = numbers(line, "\"draft_rows\":"), *target = numbers(line, "\"target_rows\":");
    printf("{\"number\":%ld,\"tokens\":[", whole(line, "\"number\":"));
    for (long row = 0; row < batch; row++) {
        long at = 0, last = gamma * (row + 1) + row; /* of the coins and target rows of this row */
        const double *p = NULL, *q = NULL;
        printf(row ? ",[" : "[");
        for (; at < gamma; at++) {
            long token = (long)drafted[gamma * row + at];
            p = rows[(long)target[last - gamma + at]], q = rows[(long)draft[gamma * row + at]];
            if (coins[last - gamma + at] >= p[token] / q[token]) break;
            printf("%ld,", token);
        }
        if (at == gamma) p = rows[(long)target[last]];
        printf("%ld]", draw(p, at == gamma || broken ? NULL : q, vocab, coins[last]));
    }
    printf("]}\n");
    free(drafted), free(coins), free(draft), free(target);
}

int main(int argc, char **argv) {
    int broken = argc > 1 && strcmp(argv[1], "--broken") == 0;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        if (strstr(line, "\"type\":\"hello\""))
            printf("{\"version\":1,\"name\":\"ratio.c\",\"declares\":[\"ratio\"],\"randomness\":\"coins\"}\n");
        else
            verify(line, broken);
        fflush(stdout); /* else the answer waits in a buffer, and the request runs out of time */
    }
    return 0;
}
