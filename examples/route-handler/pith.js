// The one Pith of this process. A framework that loads files again when they change finds it here.
import { createPith } from 'pith/embed';

const { MODEL = 'offline/librarian', OPENAI_API_KEY, OPENAI_BASE_URL } = process.env;
const KEY = Symbol.for('app.pith');
const kept = /** @type {{ [KEY]?: ReturnType<typeof createPith> }} */ (globalThis);

export const pith = await (kept[KEY] ??= createPith({ skills: ['skills'], model: MODEL, env: { OPENAI_API_KEY, OPENAI_BASE_URL } }));
