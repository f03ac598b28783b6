/** What decides whether a file can be run. */
export interface ProgramFacts {
  /** Relative to the skill's folder. */
  readonly path: string;
  readonly executable: boolean;
  /** It begins with `#!`; absent: the file has not been read. */
  readonly shebang?: boolean;
}

/** A file that Pith or another program can run: by its mode, its first bytes, its name, or its place in a skill's code folder. */
export function isProgram({ path, executable, shebang = false }: ProgramFacts): boolean {
  if (executable || shebang) return true;
  const lower = path.toLowerCase();
  if (FOLDERS.some((folder) => lower.startsWith(folder))) return true;
  const [name, ...endings] = partsOf(lower);
  if (NAMES.has([name, ...endings].join('.')) || (endings.length > 0 && ENDINGS.has(endings.at(-1)!))) return true;
  return BUILD_FILES.has(name);
}

/** Whether a file begins with `#!`: the system runs the program of the first line. */
export function beginsAsScript(bytes: Uint8Array): boolean {
  return bytes[0] === 0x23 && bytes[1] === 0x21;
}

/** The name without its folders, and the suffix after each dot but a leading one. Ignores trailing blanks and dots, as Windows does. */
function partsOf(path: string): readonly [string, ...string[]] {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/[. ]+$/u, '');
  const hidden = name.startsWith('.');
  const [first = '', ...rest] = (hidden ? name.slice(1) : name).split('.');
  return [hidden ? `.${first}` : first, ...rest];
}

const FOLDERS = ['scripts/', 'toolsets/', '.husky/', '.git/', '.github/', '.vscode/', '.claude/', '.circleci/'];

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/u));
}

/** Files that a tool of that name runs, also as `Makefile.linux`. */
const BUILD_FILES = words(`
  makefile gnumakefile bsdmakefile justfile .justfile dockerfile containerfile rakefile gemfile guardfile capfile vagrantfile
  jenkinsfile procfile brewfile podfile fastfile tiltfile snakefile earthfile taskfile sconstruct sconscript wscript
`);

/** Files with commands for a package manager, a shell or an editor. */
const NAMES = words(`
  package.json deno.json deno.jsonc bunfig.toml composer.json cargo.toml pyproject.toml setup.cfg tox.ini meson.build
  cmakelists.txt pom.xml build.xml build.bazel .npmrc .envrc .bashrc .bash_profile .profile .zshrc .zshenv .zprofile
  .gitmodules .pre-commit-config.yaml .pre-commit-config.yml .gitlab-ci.yml docker-compose.yml docker-compose.yaml
  compose.yml compose.yaml .mcp.json hooks.json tasks.json launch.json crontab
  requirements.txt constraints.txt pipfile lefthook.yml lefthook.yaml .lintstagedrc .yarnrc .yarnrc.yml pnpm-workspace.yaml
  package-lock.json pnpm-lock.yaml yarn.lock go.mod mise.toml .mise.toml .tool-versions turbo.json wrangler.toml
  playbook.yml playbook.yaml .eslintrc.json .babelrc .prettierrc settings.json
`);

const ENDINGS = words(`
  js mjs cjs jsx ts mts cts tsx coffee
  py pyw pyc pyo pyd pyz pyx pth ipynb pkl pickle whl egg
  sh bash zsh fish ksh csh tcsh dash ash nu xsh command tool bats awk sed expect exp
  rb rbw rake gemspec gem ru pl pm t raku php phtml phar lua luac r rscript jl tcl tk
  ps1 psm1 psd1 ps1xml psc1 bat cmd com exe msi msp scr pif cpl hta vb vbs vbe jse wsf wsh sct reg inf lnk url ahk au3
  jar war class java kt kts groovy gradle scala sc clj cljs cljc bb
  swift go rs zig nim cr d dart ex exs erl hrl escript hs lhs ml mli fs fsx fsi c cc cpp cxx m mm cs csx
  el elc lisp lsp cl scm rkt ss vim nix mk mak mkfile just ninja cmake bzl bazel dockerfile
  so dll dylib ko sys node wasm wat elf run app appimage deb rpm apk dmg pkg snap flatpak
  scpt scptd applescript jxa workflow desktop service timer socket plist mobileconfig terminal
  tf tfvars hcl docm dotm xlsm xltm xlam pptm
`);
