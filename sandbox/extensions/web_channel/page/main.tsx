import './style.css';
import { render } from 'preact';
import { Page } from './page.tsx';
import { showPrintableTexts } from './parts/printable-texts.ts';

showPrintableTexts();
render(<Page />, document.querySelector('#page') as Element);
