import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { signIn } from './server/session.ts';

export function SignIn(): VNode {
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState('');
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await signIn({ token: token.trim() });
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <main class="sign-in">
      <h1>Pith</h1>
      <p>
        On this machine, run <code>pith web</code>: it opens this page signed in.
      </p>
      <form onSubmit={(event) => void send(event)}>
        <label for="token">Or sign in with a token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
          aria-describedby="wrong"
        />
        <button type="submit" disabled={token.trim() === ''}>
          Sign in
        </button>
        <p id="wrong" role="alert">
          {wrong}
        </p>
      </form>
    </main>
  );
}
