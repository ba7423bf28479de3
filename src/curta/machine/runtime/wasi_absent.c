/* The functions of WASI preview 1 that three streams without a file system cannot serve: each
 * returns the error that fits. */
#include "wasi.h"

/* `error` for an open file, EBADF for any other number. */
INLINE u32 of_open_file(u32 file, u32 error) {
    return is_open(file) ? error : EBADF;
}

/* A function whose first argument is a file, and whose others do not matter. */
#define ON_FILE(name, error, ...)                                                            \
    EXPORT(#name) u32 name(u32 file, __VA_ARGS__) {                                          \
        return of_open_file(file, error);                                                    \
    }

#define ON_FILE_ONLY(name, error)                                                            \
    EXPORT(#name) u32 name(u32 file) {                                                       \
        return of_open_file(file, error);                                                    \
    }

#define UNUSED __attribute__((unused)) u32
#define ONE UNUSED a
#define TWO ONE, UNUSED b
#define THREE TWO, UNUSED c
#define FOUR THREE, UNUSED d
#define FIVE FOUR, UNUSED e
#define SIX FIVE, UNUSED f
#define SEVEN SIX, UNUSED g
#define EIGHT SEVEN, UNUSED h
#define NINE EIGHT, UNUSED i
#define TEN NINE, UNUSED j

ON_FILE(fd_seek, ESPIPE, FOUR) /* offset (2 words), whence, result */
ON_FILE(fd_tell, ESPIPE, ONE)
ON_FILE(fd_pread, ESPIPE, FIVE) /* buffers, count, offset (2), result */
ON_FILE(fd_pwrite, ESPIPE, FIVE)
ON_FILE(fd_advise, ESPIPE, FIVE)   /* offset (2), length (2), advice */
ON_FILE(fd_allocate, ENOTSUP, FOUR) /* offset (2), length (2) */
ON_FILE_ONLY(fd_datasync, SUCCESS)
ON_FILE_ONLY(fd_sync, SUCCESS)
ON_FILE(fd_fdstat_set_rights, ENOTSUP, FOUR) /* base (2), inheriting (2) */
ON_FILE(fd_filestat_set_size, EINVAL, TWO)
ON_FILE(fd_filestat_set_times, ENOTSUP, FIVE) /* access (2), modification (2), flags */
ON_FILE(fd_readdir, ENOTDIR, FIVE)            /* buffer, length, cookie (2), result */
ON_FILE(fd_renumber, ENOTSUP, ONE)
ON_FILE(fd_prestat_get, EBADF, ONE)
ON_FILE(fd_prestat_dir_name, EBADF, TWO)

ON_FILE(path_create_directory, ENOTDIR, TWO)
ON_FILE(path_filestat_get, ENOTDIR, FOUR)
ON_FILE(path_filestat_set_times, ENOTDIR, EIGHT) /* flags, path, access (2), change (2), flags */
ON_FILE(path_link, ENOTDIR, SIX)
ON_FILE(path_open, ENOTDIR, TEN) /* flags, path, flags, rights (2), rights (2), flags, result */
ON_FILE(path_readlink, ENOTDIR, FIVE)
ON_FILE(path_remove_directory, ENOTDIR, TWO)
ON_FILE(path_rename, ENOTDIR, FIVE)
ON_FILE(path_unlink_file, ENOTDIR, TWO)

/* The file comes third here. */
EXPORT("path_symlink") u32 path_symlink(UNUSED a, UNUSED b, u32 file, UNUSED c, UNUSED d) {
    return of_open_file(file, ENOTDIR);
}

ON_FILE(sock_accept, ENOTSOCK, TWO)
ON_FILE(sock_recv, ENOTSOCK, FIVE)
ON_FILE(sock_send, ENOTSOCK, FOUR)
ON_FILE(sock_shutdown, ENOTSOCK, ONE)

EXPORT("proc_raise") u32 proc_raise(UNUSED a) {
    return ENOSYS;
}
