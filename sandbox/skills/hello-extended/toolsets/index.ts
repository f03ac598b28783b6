import { defineTool, toolError, z } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { GREETINGS } from './greetings.ts';

/** The tools that come with this skill. Whatever has `getTools()` may be named in `toolsets`. */
export class HelloToolset {
  getTools() {
    return [
      defineTool({
        name: 'list_greetings',
        description: 'List the languages in which people can be greeted.',
        input: z.object({}),
        effect: 'read',
        execute: () => ({ languages: [...GREETINGS.keys()] }),
      }),
      defineTool({
        name: 'greet',
        description: 'Greet someone in a language.',
        input: z.object({ name: z.string().trim().min(1), language: z.string().default('English') }),
        effect: 'read',
        execute({ name, language }) {
          const known = [...GREETINGS.keys()];
          const found = known.find((each) => each.toLowerCase() === language.trim().toLowerCase());
          if (found === undefined) return toolError('language_unknown', `No greeting in '${language}'${didYouMean(language, known)}`);
          return { greeting: `${GREETINGS.get(found)}, ${name}!` };
        },
      }),
    ];
  }
}
