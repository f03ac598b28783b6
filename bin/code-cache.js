// Files of dist as V8 compiled them when Pith was built, so that a start need not compile them again. What does not fit, because Node
// is another, dist was moved, a file has changed or the cache is damaged, is compiled as ever.
const { readFileSync, statSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');

const [HEAD, TAIL] = Module.wrapper;

/** Code from a cache cannot import: Node does not know on whose behalf. */
const IMPORTS = /\bimport\(/;

/** Where the build puts what one kind of command line loads: sources and code (`.bin`), and where each of them is (`.json`). */
exports.codeCacheFile = (dist, name) => path.join(dist, 'code', `${name}-${process.version}-${process.platform}-${process.arch}`);

/** From now on `require` takes files of `dist` from the cache. */
exports.useCodeCache = (dist, name) => {
  if (process.sourceMapsEnabled) return require; // Node reads the maps of files that it compiles itself
  const cache = read(exports.codeCacheFile(dist, name));
  if (cache?.dist !== dist) return require; // code remembers under which name it was compiled
  const { bytes, rows, isAsWritten } = cache;
  const entries = new Map(rows.map((row) => [path.join(dist, row.file), row]));

  /** Verified by stamps, and where they differ, by content: V8 trusts what it is given. */
  function isCurrent(filename, row) {
    if (row.current !== undefined) return row.current;
    const { size, mtimeMs } = statSync(filename);
    const source = bytes.subarray(row.at + HEAD.length, row.at + row.length - TAIL.length);
    row.current =
      size === source.length &&
      (isAsWritten || sumOf(bytes.subarray(row.at, row.end)) === row.sum) &&
      (mtimeMs === row.mtimeMs || source.equals(readFileSync(filename)));
    return row.current;
  }

  function find(filename) {
    const row = entries.get(filename);
    return row !== undefined && isCurrent(filename, row) ? row : undefined;
  }

  function run(module, filename, row) {
    const source = bytes.toString(row.encoding, row.at, row.at + row.length);
    evaluate(scriptOf(source, filename, bytes.subarray(row.codeAt, row.end)), module, filename, requireOf(module, filename));
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

/** Compiles what `require` loads of `dist` in a way that can be kept. Returns what writes the cache of it. For the build. */
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
  return (file) => write(file, dist, scripts);
};

function write(file, dist, scripts) {
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
    const end = codeAt + code.length;
    const { mtimeMs } = statSync(filename);
    const sum = sumOf(Buffer.concat(parts).subarray(at, end));
    rows.push({ file: path.relative(dist, filename), mtimeMs, encoding, at, length: text.length, codeAt, end, sum });
  }
  writeFileSync(`${file}.bin`, Buffer.concat(parts));
  const index = { dist, length, rows, stamps: stampsOf(`${file}.bin`) };
  writeFileSync(`${file}.json`, JSON.stringify({ ...index, sum: textSumOf(JSON.stringify(index)) }));
}

function read(file) {
  try {
    const { sum, ...index } = JSON.parse(readFileSync(`${file}.json`, 'utf8'));
    if (sum !== textSumOf(JSON.stringify(index))) return null; // V8 trusts what it is given, and so does all below
    const { dist, length, rows, stamps } = index;
    if (!rows.every((row) => lies(row, length))) return null;
    const isAsWritten = stampsOf(`${file}.bin`).every((stamp, at) => stamp === stamps[at]);
    const bytes = readFileSync(`${file}.bin`);
    return bytes.length === length ? { dist, bytes, rows, isAsWritten } : null;
  } catch {
    return null; // made for another Node, or not at all
  }
}

/** Whether source and code of a file stand within the cache, one behind the other. */
function lies({ file, encoding, at, length, codeAt, end }, whole) {
  const places = [0, at, at + length, codeAt, end, whole];
  return (
    typeof file === 'string' &&
    (encoding === 'latin1' || encoding === 'utf8') &&
    length >= HEAD.length + TAIL.length &&
    places.every((place, i) => Number.isSafeInteger(place) && (i === 0 || place >= places[i - 1]))
  );
}

/** Of a few thousand characters. */
function textSumOf(text) {
  let sum = text.length;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum >>> 0;
}

function stampsOf(file) {
  const { size, mtimeMs, ctimeMs, ino } = statSync(file);
  return [size, mtimeMs, ctimeMs, ino];
}

/** Of a copy only: zlib takes longer to load than the rest. */
function sumOf(bytes) {
  return require('node:zlib').crc32(bytes);
}

function evaluate(script, module, filename, own) {
  script.runInThisContext().call(module.exports, module.exports, own, module, filename, path.dirname(filename));
}

function scriptOf(source, filename, cachedData) {
  return new vm.Script(source, { filename, cachedData, columnOffset: -HEAD.length });
}
