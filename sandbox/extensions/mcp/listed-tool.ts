import { isPlainMap } from '@pith/plain-data';
import { sentSchema, type SentSchema, type Work, workOfSource } from '@pith/tool-schemas';
import { asJson } from './written.ts';

/** A tool as a server lists it, as far as it is used. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Fields;
  /** What a model is told of it. */
  readonly sent: SentSchema;
  readonly outputSchema?: Fields;
  readonly annotations?: Fields;
}

type Fields = Readonly<Record<string, unknown>>;

const LONGEST_NAME = 512;
/** Of all that a server says of one tool, in characters; what a model is told of it has a smaller bound. */
const LARGEST = 256 * 1024;

const CHARACTERS_A_STEP = 64;

/** The tool, or why it cannot be offered. What is not needed to call it may be of any kind. What it costs is taken from `work`. */
export function readTool(given: unknown, work: Work = workOfSource()): ServerTool | string {
  if (!isPlainMap(given)) return 'it is no map';
  const { name, title, description, inputSchema, outputSchema, annotations } = given;
  if (typeof name !== 'string') return 'its name is no text';
  if (name === '' || name.length > LONGEST_NAME) return `its name must have 1 to ${LONGEST_NAME} characters`;
  const size = asJson(given)?.length ?? Infinity;
  if (size > LARGEST) return `what is said of it is longer than ${LARGEST / 1024} KB, or nested too deep`;
  work.left -= Math.ceil(size / CHARACTERS_A_STEP);
  const sent = sentSchema(inputSchema, work);
  if ('problem' in sent) return sent.problem;
  const words = [description, title].find((each) => typeof each === 'string' && each !== '');
  return {
    name,
    ...(words === undefined ? {} : { description: words as string }),
    inputSchema: isPlainMap(inputSchema) ? inputSchema : { type: 'object' },
    sent,
    ...(isPlainMap(outputSchema) ? { outputSchema } : {}),
    ...(isPlainMap(annotations) ? { annotations } : {}),
  };
}
