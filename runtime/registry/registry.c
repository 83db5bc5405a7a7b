/* SPDX-License-Identifier: MIT */
/*
 * registry.c -- all microprotocols by name: built in, and loaded.
 *
 * A plugin is a shared object NAME.so with one symbol, `nopal_NAME`.  A bare name is looked for in
 * the folders of $NOPAL_PLUGINS (divided by ':') and in the installed folder; what holds a '/' is a
 * path, from where the config lies that names it.  Beside a config and in the working directory
 * nothing is looked for:
 * files come there from others.  Outside the installed folder a plugin must be executable, as what
 * a linker wrote is, and what `nopal recv` wrote is not.  It is never unloaded: plans point into
 * it.
 *
 * Plans are made in any thread (the blocking calls have one each), so the list is locked.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "registry/registry.h"
#include "base/text.h"

/* Some eighty are built in; the rest is for plugins. */
enum { REGISTRY_ROOM = 1024 };

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct nopal_microprotocol *registry[REGISTRY_ROOM]; /* by name */
static size_t registry_count;

static int registry_compare(const void *a, const void *b)
{
	const struct nopal_microprotocol *const *one = a, *const *other = b;

	return strcmp((*one)->name, (*other)->name);
}

static const struct nopal_microprotocol *registry_get(const char *name)
{
	const struct nopal_microprotocol wanted = { .name = name }, *key = &wanted, **found;

	found = bsearch(&key, registry, registry_count, sizeof(*registry), registry_compare);
	return found ? *found : NULL;
}

/* False: it is full. */
static bool registry_insert(const struct nopal_microprotocol *microprotocol)
{
	if (registry_count == REGISTRY_ROOM)
		return false;
	registry[registry_count++] = microprotocol;
	qsort(registry, registry_count, sizeof(*registry), registry_compare);
	return true;
}

/* Under the lock. */
static void registry_fill(void)
{
	static bool filled;

	for (size_t i = 0; !filled && nopal__builtin[i].microprotocol; i++)
		registry_insert(nopal__builtin[i].microprotocol);
	filled = true;
}

const char *nopal__builtin_sources(const struct nopal_microprotocol *microprotocol)
{
	const struct nopal__builtin *builtin = nopal__builtin;

	while (builtin->microprotocol && builtin->microprotocol != microprotocol)
		builtin++;
	return builtin->sources;
}

size_t nopal_registry_count(void)
{
	size_t count;

	pthread_mutex_lock(&registry_lock);
	registry_fill();
	count = registry_count;
	pthread_mutex_unlock(&registry_lock);
	return count;
}

const struct nopal_microprotocol *nopal_registry_at(size_t index)
{
	const struct nopal_microprotocol *found = NULL;

	pthread_mutex_lock(&registry_lock);
	registry_fill();
	if (index < registry_count)
		found = registry[index];
	pthread_mutex_unlock(&registry_lock);
	return found;
}

const struct nopal_microprotocol *nopal_registry_find(const char *name)
{
	const struct nopal_microprotocol *found;

	pthread_mutex_lock(&registry_lock);
	registry_fill();
	found = registry_get(name);
	pthread_mutex_unlock(&registry_lock);
	return found;
}

const char *const *nopal__registry_names(struct nopal_arena *arena)
{
	const char **names;

	pthread_mutex_lock(&registry_lock);
	registry_fill();
	names = nopal__zeroed(arena, registry_count + 1, sizeof(*names));
	for (size_t i = 0; names && i < registry_count; i++)
		names[i] = registry[i]->name;
	pthread_mutex_unlock(&registry_lock);
	return names;
}

bool nopal__registry_add(const struct nopal_microprotocol *microprotocol, const char *origin,
			 struct nopal_problems *problems)
{
	const struct nopal_microprotocol *same;
	bool room = true;

	if (!nopal__descriptor_check(microprotocol, origin, problems))
		return false;
	pthread_mutex_lock(&registry_lock);
	registry_fill();
	same = registry_get(microprotocol->name);
	if (!same)
		room = registry_insert(microprotocol);
	pthread_mutex_unlock(&registry_lock);
	if (!room)
		nopal_problems_add(problems, origin, 0, "name fewer plugins",
				   "there are %d microprotocols already", REGISTRY_ROOM);
	if (same && same != microprotocol)
		nopal_problems_add(problems, origin, 0, "give it a name of its own",
				   "there is a microprotocol `%s` already", microprotocol->name);
	return room && (!same || same == microprotocol);
}

/* ------------------------------------------------------------------- plugins */

bool nopal__may_be_loaded(const char *path)
{
	const char *installed = nopal_installed(NOPAL_INSTALLED_PLUGINS);
	size_t length = strlen(installed);
	bool by_name = strncmp(path, installed, length) == 0 && path[length] == '/' &&
		       !strstr(path, "/../");

	return access(path, by_name ? R_OK : R_OK | X_OK) == 0;
}

static int registry_open(struct nopal_arena *arena, const char *path,
			 struct nopal_problems *problems)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strchr(base, '.');
	size_t length = dot ? (size_t)(dot - base) : strlen(base);
	/* "folder/vegas2.so" declares nopal_vegas2. */
	const char *symbol = nopal__printed(arena, "nopal_%.*s", (int)length, base);
	const struct nopal_microprotocol *found;
	void *object;

	if (access(path, F_OK) == 0 && !nopal__may_be_loaded(path)) {
		nopal_problems_add(problems, path, 0,
				   "look where it comes from; if it is yours, chmod +x it",
				   "the plugin is not executable, as no received file is");
		return -EACCES;
	}
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		nopal_problems_add(
			problems, path, 0,
			"build it with -shared -fPIC against this version of microprotocol.h",
			"the plugin does not load: %s", dlerror());
		return -ENOEXEC;
	}
	found = arena->failed ? NULL : dlsym(object, symbol);
	if (!found && !arena->failed)
		nopal_problems_add(problems, path, 0, "name the file after its microprotocol",
				   "the plugin has no symbol `%s`", symbol);
	if (found && nopal__registry_add(found, path, problems))
		return 0;
	dlclose(object);
	return -ENOEXEC;
}

int nopal_plugin_load(const char *name_or_path, const char *beside, struct nopal_problems *problems)
{
	struct nopal_arena arena = { .problems = problems };
	struct nopal_text folders = { .arena = &arena };
	const char *named = secure_getenv("NOPAL_PLUGINS"), *path = name_or_path;
	bool is_path = strchr(name_or_path, '/') != NULL;
	int result = 0;

	if (!is_path && nopal_registry_find(name_or_path))
		return 0;
	if (is_path && beside && *beside && *name_or_path != '/')
		path = nopal__printed(&arena, "%s/%s", beside, name_or_path);
	if (!is_path) {
		if (named && *named)
			nopal__append(&folders, "%s:", named);
		nopal__append(&folders, "%s", nopal_installed(NOPAL_INSTALLED_PLUGINS));
		path = nopal__search(&arena, nopal__text(&folders), name_or_path, ".so",
				     nopal__is_readable);
	}
	if (path && !arena.failed) {
		result = registry_open(&arena, path, problems);
	} else if (!arena.failed) {
		nopal_problems_add(problems, NULL, 0,
				   "write plugin = \"./NAME.so\" where it lies beside the config, "
				   "or put its folder into $NOPAL_PLUGINS",
				   "there is no plugin %s.so; looked in %s", name_or_path,
				   nopal__text(&folders));
		result = -ENOENT;
	}
	if (arena.failed)
		result = -ENOMEM;
	nopal__arena_release(&arena);
	return result;
}

int nopal__plugin_load_at(struct nopal_arena *arena, const char *name_or_path,
			  struct nopal_place place, struct nopal_problems *problems)
{
	const char *slash = place.file ? strrchr(place.file, '/') : NULL;
	const char *beside = ".";
	struct nopal_problems found = { 0 };
	int result;

	if (slash)
		beside = nopal__copy_part(arena, place.file, (size_t)(slash - place.file));
	result = nopal_plugin_load(name_or_path, beside, &found);
	nopal__problems_move(problems, &found, place);
	return result;
}

bool nopal__answers(const struct nopal_microprotocol *microprotocol, const char *relation)
{
	const struct nopal_role *provided = microprotocol->provides;

	if (nopal__word_in(relation, '|', microprotocol->name))
		return true;
	for (; provided && provided->name; provided++) {
		if (nopal__word_in(relation, '|', provided->name))
			return true;
	}
	return false;
}

const struct nopal_parameter *nopal__parameter_find(const struct nopal_microprotocol *one,
						    const char *name, size_t length)
{
	const struct nopal_parameter *table = one->parameters;

	for (; table && table->name; table++)
		if (strlen(table->name) == length && memcmp(table->name, name, length) == 0)
			return table;
	return NULL;
}
