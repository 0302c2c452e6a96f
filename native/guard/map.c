/*
 * Maps a journal. What it holds is obeyed with our privileges, so only a file of our own user (or root's) that nobody else may write to is
 * taken, and never through a symbolic link.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t bytes_of(uint32_t entry_count)
{
	return HEADER_BYTES + (size_t)entry_count * ENTRY_BYTES;
}

static bool is_private(const struct stat *file)
{
	return S_ISREG(file->st_mode) && (file->st_uid == geteuid() || file->st_uid == 0) && (file->st_mode & 022) == 0;
}

struct journal_header *journal_map(int fd)
{
	struct stat file;
	if (fstat(fd, &file) != 0)
		return NULL;
	if (!is_private(&file)) {
		errno = EPERM;
		return NULL;
	}
	if (file.st_size < HEADER_BYTES || (size_t)file.st_size > bytes_of(ENTRIES_MAX)) {
		errno = EINVAL;
		return NULL;
	}
	void *mapped = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return NULL;
	struct journal_header *journal = mapped;
	if (journal->magic == JOURNAL_MAGIC && journal->version == JOURNAL_VERSION && journal->entry_bytes == ENTRY_BYTES &&
	    journal->entry_count <= ENTRIES_MAX && bytes_of(journal->entry_count) <= (size_t)file.st_size) {
		journal->cpu_mount[PATH_BYTES - 1] = '\0';
		journal->cpu_group[PATH_BYTES - 1] = '\0';
		return journal;
	}
	munmap(mapped, (size_t)file.st_size);
	errno = EINVAL;
	return NULL;
}

struct journal_header *journal_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	struct journal_header *journal = journal_map(fd);
	int reason = errno;
	close(fd);
	errno = reason;
	return journal;
}

struct journal_entry *journal_entry_at(struct journal_header *journal, uint32_t index)
{
	return (struct journal_entry *)((char *)journal + HEADER_BYTES + (size_t)index * ENTRY_BYTES);
}

uint32_t journal_entries_used(const struct journal_header *journal)
{
	uint32_t used = __atomic_load_n(&journal->entries_used, __ATOMIC_ACQUIRE);
	return used < journal->entry_count ? used : journal->entry_count;
}

bool journal_is_empty(struct journal_header *journal)
{
	uint32_t used = journal_entries_used(journal);
	for (uint32_t index = 0; index < used; index++)
		if (__atomic_load_n(&journal_entry_at(journal, index)->state, __ATOMIC_ACQUIRE) == ENTRY_HELD)
			return false;
	return true;
}
