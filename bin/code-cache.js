// Files of dist as V8 compiled them when Pith was built, so that a start need not compile them again. What does not fit, because Node
// is another, dist was moved, a file has changed or the cache is damaged, is compiled as ever.
const { readFileSync, statSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const { crc32 } = require('node:zlib');

const [HEAD, TAIL] = Module.wrapper;

/** Code from a cache cannot import: Node does not know on whose behalf. */
const IMPORTS = /\bimport\(/;

/** Where the build puts what one kind of command line loads. */
exports.codeCacheFile = (dist, name) => path.join(dist, 'code', `${name}-${process.version}-${process.platform}-${process.arch}.bin`);

/** From now on `require` takes files of `dist` from the cache. */
exports.useCodeCache = (dist, name) => {
  if (process.sourceMapsEnabled) return require; // Node reads the maps of files that it compiles itself
  const cache = read(exports.codeCacheFile(dist, name));
  if (cache?.dist !== dist) return require; // code remembers under which name it was compiled
  const { bytes, rows, base } = cache;
  const entries = new Map(rows.map((row) => [path.join(dist, row.file), row]));

  /** Verified by stamps, and where they differ, by content. */
  function isCurrent(filename, row) {
    if (row.current !== undefined) return row.current;
    const { size, mtimeMs } = statSync(filename);
    const source = bytes.subarray(base + row.at + HEAD.length, base + row.at + row.length - TAIL.length);
    row.current =
      size === source.length &&
      crc32(bytes.subarray(base + row.at, base + row.end)) === row.sum && // V8 trusts what it is given
      (mtimeMs === row.mtimeMs || source.equals(readFileSync(filename)));
    return row.current;
  }

  function find(filename) {
    const row = entries.get(filename);
    return row !== undefined && isCurrent(filename, row) ? row : undefined;
  }

  function run(module, filename, row) {
    const source = bytes.toString(row.encoding, base + row.at, base + row.at + row.length);
    evaluate(scriptOf(source, filename, bytes.subarray(base + row.codeAt, base + row.end)), module, filename, requireOf(module, filename));
  }

  /** Finds files of the cache without asking the disk where they are. */
  function requireOf(module, filename) {
    const standard = Module.createRequire(filename);
    const own = (request) => {
      const file = request.startsWith('.') ? path.join(filename, '..', request) : undefined;
      if (file === undefined) return module.require(request);
      const loaded = Module._cache[file];
      if (loaded !== undefined) return loaded.exports;
      const row = find(file);
      return row === undefined ? module.require(request) : load(file, row, module);
    };
    return Object.assign(own, standard);
  }

  function load(filename, row, parent) {
    const module = new Module(filename, parent);
    module.filename = filename;
    module.paths = Module._nodeModulePaths(path.dirname(filename));
    Module._cache[filename] = module;
    try {
      run(module, filename, row);
      module.loaded = true;
      return module.exports;
    } finally {
      if (!module.loaded) delete Module._cache[filename];
    }
  }

  require.extensions['.cjs'] = (module, filename) => {
    const row = find(filename);
    if (row === undefined) require.extensions['.js'](module, filename);
    else run(module, filename, row);
  };
  return (filename) => {
    const row = find(filename);
    return row === undefined ? require(filename) : load(filename, row, module);
  };
};

/** Compiles what `require` loads of `dist` in a way that can be kept. Returns what makes the cache of it. For the build. */
exports.recordCode = (dist) => {
  const scripts = new Map();
  require.extensions['.cjs'] = (module, filename) => {
    if (!filename.startsWith(dist + path.sep)) return require.extensions['.js'](module, filename);
    const text = readFileSync(filename, 'utf8');
    if (IMPORTS.test(text)) return require.extensions['.js'](module, filename);
    const source = HEAD + text + TAIL;
    const script = scriptOf(source, filename);
    scripts.set(filename, { script, source });
    evaluate(
      script,
      module,
      filename,
      Object.assign((request) => module.require(request), Module.createRequire(filename)),
    );
  };
  return () => pack(dist, scripts);
};

function pack(dist, scripts) {
  const rows = [];
  const parts = [];
  let length = 0;
  const add = (bytes) => {
    const at = length;
    const padding = Buffer.alloc((8 - (bytes.length % 8)) % 8); // V8 copies what is not aligned
    parts.push(bytes, padding);
    length += bytes.length + padding.length;
    return at;
  };
  for (const [filename, { script, source }] of scripts) {
    const code = script.createCachedData();
    const text = Buffer.from(source);
    const encoding = text.length === source.length ? 'latin1' : 'utf8'; // of ASCII a string is made faster by the first
    const [at, codeAt] = [add(text), add(code)];
    const [file, { mtimeMs }] = [path.relative(dist, filename), statSync(filename)];
    const row = { file, mtimeMs, encoding, at, length: text.length, codeAt, end: codeAt + code.length };
    rows.push({ ...row, sum: crc32(Buffer.concat(parts).subarray(at, row.end)) });
  }
  const header = Buffer.from(JSON.stringify({ dist, length, rows }));
  return Buffer.concat([header, Buffer.alloc(7 - (header.length % 8), ' '), Buffer.from('\n'), ...parts]);
}

function read(file) {
  try {
    const bytes = readFileSync(file);
    const end = bytes.indexOf(10);
    const { dist, length, rows } = JSON.parse(bytes.utf8Slice(0, end));
    return bytes.length === end + 1 + length ? { dist, bytes, rows, base: end + 1 } : null;
  } catch {
    return null; // made for another Node, or not at all
  }
}

function evaluate(script, module, filename, own) {
  script.runInThisContext().call(module.exports, module.exports, own, module, filename, path.dirname(filename));
}

function scriptOf(source, filename, cachedData) {
  return new vm.Script(source, { filename, cachedData, columnOffset: -HEAD.length });
}
