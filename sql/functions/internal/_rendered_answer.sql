create or replace function loom._rendered_answer(p_name text, p_rendered loom.rendered, p_if_none_match text)
returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_answer jsonb := jsonb_build_object(p_name, p_rendered.parts, 'omitted', p_rendered.omitted,
    'omitted_count', p_rendered.omitted_count, 'sha256', loom._sha256(p_rendered.body));
begin
  if v_answer ->> 'sha256' = p_if_none_match then
    return v_answer || '{"unchanged": true}';
  end if;
  return v_answer || jsonb_build_object('text', p_rendered.body, 'unchanged', false);
end
$$;
comment on function loom._rendered_answer(text, loom.rendered, text) is
  'The answer of a render, its parts under the name given: without the text, and unchanged, where the caller has that very text.';
