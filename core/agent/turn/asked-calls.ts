import { type ModelPart, PithError } from '../../contract/index.ts';

/** Of one answer: each call costs its part of an event loop that all conversations share. */
const MOST_CALLS = 256;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** What one answer of a model asks for, counted while it comes: as parts of inputs, as whole calls, or as both. */
export class AskedCalls {
  #begun = 0;
  #whole = 0;
  #charactersBegun = 0;
  #charactersWhole = 0;

  /** Throws `model_failed` where it is more than any answer may ask for. */
  count(part: ModelPart): void {
    if (part.type === 'tool-input-start') this.#begun += 1;
    else if (part.type === 'tool-input-delta') this.#charactersBegun += part.delta.length;
    else if (part.type === 'tool-call') {
      this.#whole += 1;
      this.#charactersWhole += part.input.length;
    } else return;
    if (Math.max(this.#begun, this.#whole) > MOST_CALLS) throw tooMuch(`more than ${MOST_CALLS} tool calls`);
    if (Math.max(this.#charactersBegun, this.#charactersWhole) > MOST_CHARACTERS)
      throw tooMuch(`tool calls with more than ${MOST_CHARACTERS} characters of arguments`);
  }
}

function tooMuch(what: string): PithError {
  return new PithError('model_failed', `the model asked for ${what} in one answer`, { cure: 'ask again, or choose another model' });
}
