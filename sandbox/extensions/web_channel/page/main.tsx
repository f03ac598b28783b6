import './style.css';
import { render } from 'preact';
import { Page } from './page.tsx';

render(<Page />, document.querySelector('#page') as Element);
