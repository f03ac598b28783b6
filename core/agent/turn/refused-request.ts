import { messageOf, type TurnEvent } from '../../contract/index.ts';
import { modelFailure, refusedPart } from '../../models/index.ts';
import { sentHistory } from '../prompt/history.ts';
import { withRefused } from '../prompt/images.ts';
import { ModelPrompt } from '../prompt/request.ts';
import { compactIfNeeded } from './compaction.ts';
import type { RunningTurn } from './running-turn.ts';

/** What one turn has changed because its model's server refused a request. Each change is tried once. */
export class RefusedRequests {
  #isShortened = false;
  #hasOtherIds = false;
  /** Digests of images that were left out, and that nothing has shown yet to be what the server minds. */
  readonly #images = new Set<string>();

  constructor(private readonly turn: RunningTurn) {}

  /** Changes the prompt to what the server may take. Returns whether it is worth asking again. */
  async *change(error: unknown): AsyncGenerator<TurnEvent, boolean, undefined> {
    const { plan, conversation, record } = this.turn;
    const failure = modelFailure(error, plan.model.ref);
    const part = refusedPart(error, conversation.effort !== null);
    const why = messageOf(failure);
    if (part === 'effort' && (yield* this.#withoutEffort(why))) return true;
    if (part === 'image' && (yield* this.#withoutImages(why))) return true;
    if (part === 'image' && (yield* this.#withoutEffort(why))) return true; // it did not say what it minds
    if (failure.code === 'model_context_too_long') {
      if (this.#isShortened) return false;
      this.#isShortened = true;
      return yield* compactIfNeeded(this.turn, { force: true });
    }
    if (part !== 'call id' || this.#hasOtherIds) return false;
    this.#hasOtherIds = true;
    const history = sentHistory(await this.#messages(), record.id).map(({ message }) => message);
    conversation.prompt = new ModelPrompt(plan.system, history, { ref: plan.model.ref, keepsIds: false });
    return true;
  }

  *#withoutEffort(why: string): Generator<TurnEvent, boolean, undefined> {
    const { conversation, record, notices } = this.turn;
    const { effort } = conversation;
    if (effort === null) return false;
    conversation.effort = null;
    const message = `${why}; the model is asked again without the thinking effort '${effort}' (/effort chooses another)`;
    yield* notices.fresh(record, [{ code: 'effort_refused', message }]);
    return true;
  }

  *#withoutImages(why: string): Generator<TurnEvent, boolean, undefined> {
    const { conversation, record, notices } = this.turn;
    const leftOut = conversation.prompt.leaveOutImages('the server of this model refused it');
    if (leftOut.length === 0) return false;
    for (const digest of leftOut) this.#images.add(digest);
    const what = leftOut.length === 1 ? 'an image was' : `${leftOut.length} images were`;
    const message = `${why}; ${what} left out, and the model is asked again`;
    yield* notices.fresh(record, [{ code: 'image_refused', message }]);
    return true;
  }

  /** The server accepted the request: what was left out for it stays left out for this model, and others are shown it. */
  async accepted(): Promise<void> {
    if (this.#images.size === 0) return;
    const { plan, record, writer } = this.turn;
    const messages = (await this.#messages()).map((each) => ({
      ...each,
      message: withRefused(each.message, this.#images, plan.model.ref),
    }));
    this.#images.clear();
    await writer.rewrite(record.threadId, messages);
  }

  async #messages() {
    const { deps, record } = this.turn;
    return (await deps.threads.load(record.threadId))?.messages ?? [];
  }
}
