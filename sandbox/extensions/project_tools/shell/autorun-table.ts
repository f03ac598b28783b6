/** Of files, by their names from the project down; null: nothing starts from it by itself. The first that fits. */
export function startsBy(place: string): string | null {
  if (place.endsWith('/')) return UNLISTED;
  const plain = place.toLowerCase();
  return FILES.find(({ test }) => test.test(plain))?.starts ?? (LINKS.test(place) ? LINKED : null);
}

/** Folders from which programs start something: a link may have their name. */
export const LINKS =
  /(?:^|\/)\.(?:yarn|mise|config|helix|n?vim|vscode|idea|fleet|zed|devcontainer|husky|githooks|cargo|mvn|pip|claude|cursor|gemini|codex|kiro|roo|windsurf|continue|opencode)$/iu;

const UNLISTED = 'nobody may list this folder, so look at what lies in it yourself';
const LINKED = 'a link in place of a folder from which tools start programs';
const named = (names: string): RegExp => new RegExp(`(?:^|/)(?:${names})$`, 'u');
const FILES: readonly { readonly test: RegExp; readonly starts: string }[] = [
  { test: named('package\\.json|binding\\.gyp'), starts: 'its scripts run when packages are installed or tested' },
  {
    test: named(
      'composer\\.json|gemfile|.+\\.gemspec|setup\\.(?:py|cfg)|pyproject\\.toml|cargo\\.toml|podfile|.+\\.podspec|mix\\.exs|rebar\\.config|package\\.swift|conanfile\\.py|(?:settings|build|init)\\.gradle(?:\\.kts)?|build\\.sbt|project/.+\\.sbt|pom\\.xml|makefile\\.pl|build\\.pl|\\.venv/bin/activate[^/]*|venv/bin/activate[^/]*',
    ),
    starts: 'package managers, or editors by them, run what it says',
  },
  {
    test: named(
      '\\.npmrc|\\.yarnrc|\\.yarnrc\\.ya?ml|\\.?pnpmfile\\.[cm]?js|pnpm-workspace\\.yaml|bunfig\\.toml|\\.yarn/(?:plugins|releases)/.+|pip\\.conf|\\.pip/.+',
    ),
    starts: 'package managers take programs and registries from it',
  },
  {
    test: named(
      '\\.envrc|\\.tool-versions|\\.?mise(?:\\.[\\w-]+)?\\.toml|\\.mise/.+|\\.config/mise/.+|\\.(?:bash|zsh|fish)[\\w-]*|\\.z(?:profile|login|logout)|\\.profile|\\.bash_profile|\\.(?:python|ruby|node|java|go|terraform)-version|\\.nvmrc|\\.sdkmanrc|\\.autoenv(?:\\.zsh)?|(?:flake|shell|default)\\.nix|devenv\\.nix|\\.env\\.(?:ps1|fish)',
    ),
    starts: 'a shell or its prompt may run it when you enter the folder',
  },
  {
    test: named(
      '\\.(?:vscode|idea|fleet|zed|devcontainer)(?:/.+)?|\\.devcontainer\\.json|.+\\.code-workspace|.+\\.sublime-project|\\.helix/.+|\\.rspec|\\.pylintrc|\\.flake8|\\.?mypy\\.ini|\\.rubocop\\.ya?ml|\\.solargraph\\.yml|\\.n?vim/.+|\\.vimrc|\\.exrc|\\.nvim\\.lua|\\.nvimrc|\\.dir-locals(?:-2)?\\.el|\\.?(?:eslint|prettier|stylelint)(?:rc|\\.config)(?:\\.[cm]?[jt]s)?|build\\.rs',
    ),
    starts: 'editors run its tasks, tools or settings when the folder is opened',
  },
  {
    test: named(
      '(?:\\.husky|\\.?git-?hooks)(?:/.+)?|\\.pre-commit-config\\.ya?ml|\\.?lefthook(?:-local)?\\.(?:ya?ml|toml|json)|\\.overcommit\\.yml|\\.lintstagedrc(?:\\..+)?|lint-staged\\.config\\..+|\\.simple-git-hooks\\..+',
    ),
    starts: 'git hooks run it when you commit or push',
  },
  {
    test: named(
      '\\.cargo/config(?:\\.toml)?|rust-toolchain(?:\\.toml)?|\\.bazelrc|\\.bazeliskrc|\\.mvn/.+|gradle/wrapper/.+|\\.gdbinit|\\.lldbinit|\\.pdbrc|\\.irbrc|\\.pryrc|\\.rprofile|\\.ocamlinit|\\.ghci|[^/]+\\.config\\.[cm]?[jt]s',
    ),
    starts: 'tools take programs from it when they start',
  },
  {
    test: named(
      '\\.claude/settings(?:\\.local)?\\.json|\\.(?:cursor|gemini|codex|kiro|roo|windsurf|continue)/.*\\.(?:json|toml|ya?ml|js|ts)|\\.mcp\\.json|opencode\\.jsonc?|\\.opencode/.+',
    ),
    starts: 'agents take servers and hooks from it',
  },
];
