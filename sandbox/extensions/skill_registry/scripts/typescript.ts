import { messageOf } from 'pith';
import path from 'node:path';

/** One module of JavaScript beside the script, from it and what it imports of its skill; or why there is none. */
export async function bundleScript(directory: string, script: string): Promise<{ readonly file: string } | { readonly why: string }> {
  const { default: esbuild } = await import('esbuild');
  const entry = path.join(directory, script);
  const file = path.join(path.dirname(entry), `.${path.basename(entry)}.mjs`);
  try {
    await esbuild.build({
      entryPoints: [entry],
      outfile: file,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: 'inline',
      tsconfigRaw: '{}',
      logLevel: 'silent',
      absWorkingDir: directory,
      plugins: [
        {
          name: 'inside',
          setup(build) {
            // This runs outside of the sandbox: nothing but the skill's own files is read.
            build.onResolve({ filter: /.*/ }, ({ path: given, kind, resolveDir }) => {
              if (kind === 'entry-point') return undefined;
              if (!given.startsWith('.')) return { path: given, external: true };
              const below = path.relative(directory, path.resolve(resolveDir, given));
              return below === '..' || below.startsWith(`..${path.sep}`)
                ? { errors: [{ text: `'${given}' is outside of the skill` }] }
                : undefined;
            });
          },
        },
      ],
    });
    return { file };
  } catch (error) {
    return { why: messageOf(error).replaceAll(`${directory}/`, '').slice(0, 2000) };
  }
}
