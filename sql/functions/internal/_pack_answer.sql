create or replace function loom._pack_answer(
  p_sections loom.pack_section[], p_token_budget integer, p_if_none_match text
) returns jsonb
language plpgsql immutable
set search_path = loom, pg_temp
as $$
declare
  v_section loom.pack_section;
  v_depends boolean;
  v_prefix text := '';
  v_tail text := '';
  v_hash text;
  v_quarters bigint := 0;
  v_parts jsonb[] := '{}';
  v_unchanged boolean;
begin
  foreach v_section in array p_sections loop
    continue when v_section.body = '';
    v_quarters := v_quarters + v_section.quarters + case v_quarters when 0 then 0 else 2 end;
    if loom._pack_depends_on_query(v_section.name) then
      v_tail := v_tail || case when v_prefix || v_tail = '' then '' else E'\n\n' end || v_section.body;
    else
      v_prefix := v_prefix || case when v_prefix = '' then '' else E'\n\n' end || v_section.body;
    end if;
  end loop;
  v_hash := loom._sha256(v_prefix);
  v_unchanged := coalesce(v_hash = p_if_none_match, false);
  foreach v_section in array p_sections loop
    v_depends := loom._pack_depends_on_query(v_section.name);
    v_parts := v_parts || (jsonb_build_object('name', v_section.name,
      'tokens', (v_section.quarters + 3) / 4, 'sha256', loom._sha256(v_section.body),
      'items', v_section.items, 'omitted', v_section.omitted, 'omitted_count', v_section.omitted_count)
      || case when v_unchanged and not v_depends then '{}' else jsonb_build_object('text', v_section.body) end);
  end loop;
  return jsonb_build_object('text', case when v_unchanged then '' else v_prefix end || v_tail, 'sections', to_jsonb(v_parts),
    'stable_prefix_chars', char_length(v_prefix), 'stable_hash', v_hash, 'unchanged', v_unchanged,
    'tokens', (v_quarters + 3) / 4, 'token_budget', p_token_budget);
end
$$;
comment on function loom._pack_answer(loom.pack_section[], integer, text) is
  'The answer of context.pack: the sections put together, the part of the text that no query changes with its hash, and without that part where the caller has it.';
