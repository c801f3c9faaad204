create or replace function loom.context_pack(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('context.pack', p_request);
  v_plan loom.pack_plan := loom._pack_plan(p_request);
  v_if_none_match text := loom._text(p_request, 'if_none_match');
  v_embedding jsonb := loom._query_embedding(p_request);
  v_asked loom.search_query;
  v_found loom.pack_offer[];
  v_room bigint := 4 * v_plan.token_budget;
  v_name text;
  v_offer loom.pack_offer;
  v_section loom.pack_section;
  v_parts jsonb[] := '{}';
  v_text text := '';
  v_stable text := '';
  v_stable_chars bigint := 0;
  v_hash text;
  v_unchanged boolean;
begin
  if v_plan.names && '{memories,decisions}' then
    v_asked := loom._search_asked(v_caller, v_plan.query, v_embedding);
    v_found := loom._pack_found(v_caller, v_asked, v_plan.format);
  end if;
  foreach v_name in array v_plan.names loop
    v_offer := case v_name
      when 'working_memory' then loom._pack_working_memory(v_caller, v_plan)
      when 'profile' then loom._pack_profile(v_caller, v_plan)
      when 'user_profile' then loom._pack_user_profile(v_caller, v_plan)
      when 'looms' then loom._pack_looms(v_caller, v_plan)
      when 'memories' then v_found[1]
      when 'decisions' then v_found[2]
    end;
    v_section.body := loom._pack_framed(v_name, v_offer.bodies, v_plan.format);
    v_section.quarters := loom._token_quarters(v_section.body);
    if v_section.quarters > least(4 * (v_plan.section_token_budgets -> v_name)::bigint, v_room) then
      v_section := loom._pack_fitted(v_name, v_offer, v_plan.format,
        least(4 * (v_plan.section_token_budgets -> v_name)::bigint, v_room));
    else
      v_section.part := loom._pack_part(v_name, v_section.body, v_section.quarters, v_offer.items, '{}');
    end if;
    v_parts := v_parts || v_section.part;
    if v_section.body <> '' then
      v_room := v_room - v_section.quarters - 2;  -- and the empty line behind it
      v_text := case v_text when '' then '' else v_text || E'\n\n' end || v_section.body;
      if not loom._pack_depends_on_query(v_name) then
        v_stable := v_text;
        -- From what was taken so far: to count them would go through the text once more.
        v_stable_chars := 2 * octet_length(v_text) - (4 * v_plan.token_budget - v_room - 2);
      end if;
    end if;
  end loop;
  v_hash := loom._text_sha256(v_stable);
  v_unchanged := coalesce(v_hash = v_if_none_match, false);
  if v_unchanged then
    v_text := substr(v_text, v_stable_chars::integer + 1);
    v_parts := loom._pack_unstable(v_parts);
  end if;
  -- What was taken less the empty line behind the last section, rounded up to a token.
  return loom._pack_answer(v_text, v_parts, v_stable_chars, v_hash, v_unchanged,
    (4 * v_plan.token_budget - v_room - 2 + 3) / 4, v_plan.token_budget, v_asked.legs);
end
$$;
comment on function loom.context_pack(jsonb) is
'What the next prompt starts with, as one text: the layered blocks of working memory, then the profile sections in reach the user''s own profile and the threads of the looms named, then what the query finds. All before what depends on the query is the same for every query and changes only with what is rendered, so a prompt cache can keep it. A section takes what the sections before it left of the budget; items that do not fit are left out whole and named.

Request: query (2000 characters at most), token_budget (100 to 200000, default 4000), section_token_budgets (the most tokens of a section, by its name), block_order (sections in the order wanted; those that depend on the query stay behind the others), only_sections, session_block (the key of the one session:… block to keep), labels (profile sections, in the order wanted), format (xml, markdown), include_user_profile (true), include_looms (ids of looms, 20 at most, in the order wanted), language (of its header, as in de or de-AT; English when left out or unknown), read_scope (own_user, own_session, namespace), if_none_match (a stable_hash answered before), query_embedding {model, vector} (what the named model made of the query; the API fills it in).
Returns: text (only what follows the stable part when unchanged), sections [{name, text (left out when unchanged), tokens, sha256, items, omitted (the first 100), omitted_count}], stable_prefix_chars, stable_hash of that part, tokens (an estimate), token_budget, unchanged, legs (with a query: which legs of the search ran, as in memory.search).
Errors: LM001, LM003, LM103 a loom that is not there or not in reach, LM302, LM406.';
