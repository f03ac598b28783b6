/**
 * Why a file at this path may decide what runs, or what an agent reads, later and without a question; null: it does not. `names` lead from
 * the sandbox down to the file. Tools that write files ask about each such file and never offer `always`. Names are compared as the most
 * lenient file system does.
 */
export function runsLater(names: readonly string[]): string | null {
  return runsLaterIn(names) ?? FIRST.find(({ test }) => test.test(plainName(names[0] ?? '')))?.why ?? null;
}

/** The same for a folder that is not a sandbox, such as a project. */
export function runsLaterIn(names: readonly string[]): string | null {
  const plain = names.map(plainName);
  const file = plain.at(-1) ?? '';
  return (
    (plain.includes('') ? 'has a name that some systems take for another' : null) ??
    ON_THE_WAY.find(({ test }) => plain.some((name) => test.test(name)))?.why ??
    FILES.find(({ test }) => test.test(file))?.why ??
    null
  );
}

/** Case, Unicode forms, invisible characters, trailing dots and spaces, and stream names matter on some systems only. */
function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
    .replace(/:.*$/su, '')
    .replace(/[. ]+$/u, '')
    .toUpperCase() // 'ß' and 'ſ' get one lower-case form only after this
    .toLowerCase();
}

/** Whether agents read a file of this name as instructions. */
export function isInstructions(name: string): boolean {
  return INSTRUCTIONS.test(plainName(name));
}

const INSTRUCTIONS =
  /^(?:agents?|claude|gemini|codex|qwen|warp|copilot-instructions|conventions)(?:\..+)?\.md$|\.(?:instructions|prompt)\.md$|\.mdc$/u;

interface Kind {
  /** A pattern for the plain form of a name. */
  readonly test: RegExp;
  readonly why: string;
}

/** Matched against the file and every folder on its path. */
const ON_THE_WAY: readonly Kind[] = [
  { test: /^\./u, why: 'is a dot file or in a dot folder, which shells, editors, agents and version control read automatically' },
  { test: /~\d/u, why: 'has the form of a short name, which Windows takes for another file' },
  {
    test: /^(?:node_modules|site-packages|dist-packages|__pycache__|venv)$/u,
    why: 'is in a folder of packages, which programs load automatically',
  },
  { test: /^git-?hooks$/u, why: 'is in a folder of hooks, which git starts automatically' },
  { test: /^buildsrc$/u, why: 'is code of the build, which every build runs' },
];

const FILES: readonly Kind[] = [
  {
    test: /^(?:(?:pre|post)-(?:applypatch|commit|merge-commit|rebase|checkout|merge|push|receive|update|auto-gc|rewrite)|(?:applypatch|commit|prepare-commit)-msg|push-to-checkout|fsmonitor-watchman)(?:\.[a-z0-9]+)?$/u,
    why: 'has the name of a hook, which git starts automatically',
  },
  {
    test: /(?:^|[._-])lock(?:b|file)?(?:\.(?:json[c5]?|ya?ml|toml|hcl|txt))?$|^[^.]*lockfile$|shrinkwrap\.json$|^go(?:\.work)?\.sum$|\.resolved$/u,
    why: 'is a lock file, which decides what the next install or update fetches',
  },
  {
    test: /^(?:package\.(?:json5?|yaml|swift)|pyproject\.toml|setup\.(?:py|cfg)|(?:requirements|constraints).*\.(?:txt|in)|pipfile|environment\.ya?ml|cargo\.toml|go\.(?:mod|work)|gemfile|composer\.json|pom\.xml|bower\.json|deno\.jsonc?|jsr\.json|bunfig\.toml|(?:lerna|nx|turbo|rush|vcpkg|project|angular|workspace|devbox)\.json|pnpm-workspace\.yaml|podfile|cartfile|mix\.exs|rebar\.config|stack\.yaml|pubspec\.yaml|rust-toolchain(?:\.toml)?|nuget\.config|conanfile\.(?:py|txt)|brewfile|project\.clj|deps\.edn)$|\.(?:gemspec|podspec|nuspec|cabal|nix)$/u,
    why: 'is a package manifest: installing, building or testing runs what it names',
  },
  {
    test: /^(?:gnu)?makefile(?:\.[a-z0-9]+)?$|\.(?:mk|mak|cmake|gradle|kts|sbt|bzl|bazel|ninja|[a-z]+proj|props|targets|slnx?)$|^(?:cmakelists\.txt|justfile|taskfile\.ya?ml|rakefile|build(?:\.(?:rs|xml|zig|py))?|workspace|gradle\.properties|gradlew(?:\.bat)?|mvnw(?:\.cmd)?|meson\.build|scons(?:truct|cript)|wscript|configure(?:\.ac)?|tiltfile|earthfile|vagrantfile|procfile|g(?:ulp|runt)file\.[a-z]+|(?:noxfile|fabfile|tasks)\.py|magefile\.go|mise\.toml|moon\.ya?ml|cmake(?:user)?presets\.json|procfile\..+|snakefile|dodo\.py|xmake\.lua|build\.(?:mill|sc)|gradle-wrapper\.jar|(?:setup|autogen|bootstrap|install)\.(?:sh|bash|ps1|bat|cmd))$/u,
    why: 'is a build file: building, testing or a task runner runs what it says',
  },
  {
    test: /^(?:docker|container)file(?:\..+)?$|\.dockerfile$|^(?:docker-)?compose(?:\..+)?\.ya?ml$|^(?:jenkinsfile|(?:guard|danger|fast)file|(?:azure-pipelines|bitbucket-pipelines|appveyor|cloudbuild|buildspec|codemagic|bitrise|lefthook|pre-commit-config)\.[a-z]+)$|\.(?:service|timer|desktop|plist|reg|lnk|inf|workflow)$/u,
    why: 'is started by a container, a pipeline, a hook or the system itself',
  },
  {
    test: /\.(?:config|conf|setup|workspace)\.[a-z]+$|^[tj]sconfig.*\.json$|^(?:conftest|sitecustomize|usercustomize)\.py[cdo]?$|\.pth$|^(?:tox|pytest|mypy|setup)\.ini$/u,
    why: 'is a settings file from which its program runs code or loads plugins',
  },
  {
    test: /\.(?:code-workspace|sublime-project|sublime-settings|iml|vim|el)$|^(?:mcp|opencode)\.jsonc?$/u,
    why: 'is a settings file of an editor or an agent',
  },
  {
    test: INSTRUCTIONS,
    why: 'is read by agents as instructions',
  },
  { test: /^pith(?:\..*)?\.ya?ml$/u, why: 'contains settings of Pith' },
  { test: /^skill\.md$/u, why: 'makes a skill of its folder' },
  { test: /^(?:manifest\.yaml|prompt\.(?:jinja2|j2|njk))$/u, why: 'makes an extension or an agent of its folder' },
];

/** Matched against folders directly below the sandbox. */
const FIRST: readonly Kind[] = [
  { test: /^extensions$/u, why: 'is code of an extension' },
  { test: /^agents$/u, why: 'is part of an agent' },
  { test: /^skills$/u, why: 'is part of a skill' },
  { test: /^recipes$/u, why: 'is a recipe, which is sent as your own words' },
  { test: /^saved_skills$/u, why: 'is an agent that is kept with its permissions and its schedule' },
];
