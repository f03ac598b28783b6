// What only a checkout of Pith has to know about its builds. An installed package does not hold this file.
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const EXTENSIONS = 'sandbox/extensions';

/** All that a build is made from. */
const SOURCES = [
  'core',
  'packages',
  EXTENSIONS,
  'scripts/build.mjs',
  'scripts/checkout.cjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** Of the text of the sources and of the tools that build them: it names a build. */
exports.digestOf = (root, extensions) =>
  hash([
    process.versions.node.split('.')[0],
    ...['esbuild', 'typescript-7'].map((name) => require(`${name}/package.json`).version),
    ...filesOf(root, extensions).flatMap((file) => [file, textOf(path.join(root, file))]),
  ]);

/** By what a build is known to be as new as its sources: without what it has no bundle of, as a person's own extensions, which run without a build. */
exports.sourcesOf = (root, folder) => {
  const built = fs.readdirSync(path.join(folder, 'ext'));
  return {
    // Of sizes and times: cheap, and other whenever the text is.
    stamps: hash(filesOf(root, built).map((file) => stampOf(path.join(root, file), file))),
    get text() {
      return exports.digestOf(root, built);
    },
  };
};

/** Tells builds that this process needs the files of a build, and a person when the build is older than its sources. */
exports.useBuild = (root, folder) => {
  register(path.join(folder, 'users'));
  const known = JSON.parse(fs.readFileSync(path.join(root, 'dist', 'build.json'), 'utf8'));
  const now = exports.sourcesOf(root, folder);
  if (now.stamps === known.stamps || now.text === known.text) return;
  process.stderr.write(
    `pith: dist/ is older than its sources: the kernel runs as it was built, and changed extensions run in processes of their own; run \`npm run build\` in ${root}\n`,
  );
};

/** Whether a process that registered is still there. */
exports.isUsed = (folder) => {
  const users = path.join(folder, 'users');
  return fs.existsSync(users) && fs.readdirSync(users).some((pid) => exports.isAlive(Number(pid)));
};

exports.isAlive = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM'; // another user's
  }
};

function register(users) {
  const file = path.join(users, String(process.pid));
  try {
    fs.mkdirSync(users, { recursive: true });
    fs.writeFileSync(file, '');
    process.on('exit', () => fs.rmSync(file, { force: true }));
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'].includes(error.code)) throw error; // builds keep what is younger than a day
  }
}

function filesOf(root, extensions) {
  const files = [];
  const visit = (file) => {
    const entries = fs.readdirSync(path.join(root, file), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name === 'node_modules') continue;
      if (file === EXTENSIONS && extensions?.includes(entry.name) === false) continue;
      if (entry.isDirectory()) visit(`${file}/${entry.name}`);
      else files.push(`${file}/${entry.name}`);
    }
  };
  for (const source of SOURCES) {
    if (path.extname(source) !== '') files.push(source);
    else visit(source);
  }
  return files.sort();
}

/** Nothing of what is gone or is no file: to read a pipe would wait for ever. */
function textOf(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ? fs.readFileSync(file, 'utf8') : '';
}

function stampOf(file, name) {
  const { size, mtimeMs } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${name} ${size} ${mtimeMs}`;
}

function hash(parts) {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
}
