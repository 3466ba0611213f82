/* A disk that fails while a test wants it to. Preloaded into a child, it lets writes, syncs and reads of the files of a
   store fail with the error number in the file `write`, `sync` or `read` of the folder FAILING_DISK, while that
   file is there; those of a record of decisions with that in `record-write`, `record-sync` or `record-read`, and of the key
   of a certificate with that in `key-read`, and of what has no name yet with that in `unfinished-write`. With 0 they never
   end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int error_of(int fd, const char *what) {
    char link[64], path[4096];
    const char *faults = getenv("FAILING_DISK");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!faults || length < 0)
        return 0;
    path[length] = 0;
    const char *of = strstr(path, "/.tillgate-unfinished-") ? "unfinished-"
        : strstr(path, "/decisions.jsonl") ? "record-" : strstr(path, "/privkey.pem") ? "key-"
        : strstr(path, "/tillgate.db") ? "" : NULL;
    if (!of)
        return 0;
    snprintf(path, sizeof path, "%s/%s%s", faults, of, what);
    FILE *fault = fopen(path, "r");
    int error = 0;
    if (fault) {
        int hangs = fscanf(fault, "%d", &error) == 1 && error == 0;
        fclose(fault);
        while (hangs)
            pause();
    }
    return error;
}

#define FAIL_OR_CALL(what, type, name, parameters, arguments) \
    type name parameters { \
        static type (*call) parameters; \
        int error = error_of(fd, what); \
        if (error) { \
            errno = error; \
            return -1; \
        } \
        if (!call) \
            call = (type (*) parameters)dlsym(RTLD_NEXT, #name); \
        return call arguments; \
    }

FAIL_OR_CALL("write", ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
FAIL_OR_CALL("write", ssize_t, pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
FAIL_OR_CALL("write", ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
FAIL_OR_CALL("sync", int, fsync, (int fd), (fd))
FAIL_OR_CALL("sync", int, fdatasync, (int fd), (fd))
FAIL_OR_CALL("read", ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count))
FAIL_OR_CALL("read", ssize_t, pread, (int fd, void *bytes, size_t count, off_t at), (fd, bytes, count, at))
FAIL_OR_CALL("read", ssize_t, pread64, (int fd, void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
