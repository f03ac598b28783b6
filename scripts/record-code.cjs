// Loaded before the `pith` command by scripts/code-cache.mjs: keeps the code that the command line compiled, all functions that ran.
const path = require('node:path');
const { recordCode } = require('../bin/code-cache.js');

const write = recordCode(path.join(__dirname, '../dist'));
process.once('exit', (code) => {
  if (code === 0) write(process.env.PITH_CODE_CACHE);
});
