// Draws a frame around one line of text: node banner.mjs "Hello, Ada!"
const [text, ...more] = process.argv.slice(2);
if (text === undefined || more.length > 0) {
  process.stderr.write('give one text: banner.mjs "Hello, Ada!"\n');
  process.exitCode = 2;
} else {
  const edge = '*'.repeat([...text].length + 4);
  process.stdout.write(`${edge}\n* ${text} *\n${edge}\n`);
}
